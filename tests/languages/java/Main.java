import java.util.Scanner;
import work.Work;

public class Main {
    public static void main(String[] args) throws Exception {
        Scanner input = new Scanner(System.in);
        for (String line; !(line = input.nextLine()).equals("FINISH"); ) {
            System.out.println(Work.work(line));
        }
    }
}
