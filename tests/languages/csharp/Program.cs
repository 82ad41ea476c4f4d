using System;

class Program
{
    static void Main()
    {
        for (string line; (line = Console.ReadLine()) != "FINISH";)
            Console.WriteLine(Work.Do(line));
    }
}
