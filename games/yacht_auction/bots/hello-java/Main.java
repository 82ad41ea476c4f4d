import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/** The smallest Yacht Auction bot that plays a legal match. The rules are in games/yacht_auction/protocol.md. */
public class Main {
    private static final String[] CATEGORIES = {
        "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "CHOICE",
        "FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT"
    };

    private final String[] bundles = new String[2];
    private String dice = ""; // what we hold: five dice, ten between an auction and the scoring after it
    private int used = 0;

    public static void main(String[] args) throws IOException {
        var bot = new Main();
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null && !line.equals("FINISH"); ) {
            String reply = bot.answer(line.split(" "));
            if (reply != null) {
                System.out.println(reply);
                System.out.flush(); // or the line would arrive too late
            }
        }
    }

    private String answer(String[] words) {
        switch (words[0]) {
            case "READY":
                return "OK";
            case "ROLL": // bid half of the difference for the bundle with more pips
                bundles[0] = words[1];
                bundles[1] = words[2];
                int lead = total(bundles[0]) - total(bundles[1]);
                return "BID " + (lead >= 0 ? 'A' : 'B') + ' ' + 500 * Math.abs(lead);
            case "GET": // GET A B 500: we got A; the other player wanted B and bid 500
                dice += bundles[words[1].charAt(0) - 'A'];
                return null;
            case "SCORE": // the first five dice, in the first category that is unused
                String chosen = dice.substring(0, 5);
                dice = dice.substring(5);
                return "PUT " + CATEGORIES[used++] + ' ' + chosen;
            default: // SET says what the other player scored; it expects no answer
                return null;
        }
    }

    private static int total(String dice) {
        return dice.chars().map(die -> die - '0').sum();
    }
}
