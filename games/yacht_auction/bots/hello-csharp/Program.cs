using System;
using System.Linq;

/// <summary>
/// The smallest Yacht Auction bot that plays a legal match. The rules are in games/yacht_auction/protocol.md.
/// </summary>
public static class Program
{
    private static readonly string[] Categories =
    {
        "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "CHOICE",
        "FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT",
    };

    public static void Main()
    {
        var bundles = new string[2];
        var dice = ""; // what we hold: five dice, ten between an auction and the scoring after it
        var used = 0;

        string line;
        while ((line = Console.ReadLine()) != null)
        {
            var words = line.Split(' ');
            switch (words[0]) // Console.WriteLine flushes by itself
            {
                case "READY":
                    Console.WriteLine("OK");
                    break;
                case "ROLL": // bid half of the difference for the bundle with more pips
                    bundles = new[] { words[1], words[2] };
                    var lead = Total(bundles[0]) - Total(bundles[1]);
                    Console.WriteLine($"BID {(lead >= 0 ? 'A' : 'B')} {500 * Math.Abs(lead)}");
                    break;
                case "GET": // GET A B 500: we got A; the other player wanted B and bid 500
                    dice += bundles[words[1][0] - 'A'];
                    break;
                case "SCORE": // the first five dice, in the first category that is unused
                    Console.WriteLine($"PUT {Categories[used++]} {dice.Substring(0, 5)}");
                    dice = dice.Substring(5);
                    break;
                case "FINISH":
                    return;
            } // SET says what the other player scored; it expects no answer
        }
    }

    private static int Total(string dice)
    {
        return dice.Sum(die => die - '0');
    }
}
