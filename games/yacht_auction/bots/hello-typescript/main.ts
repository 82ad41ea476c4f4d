// The smallest Yacht Auction bot that plays a legal match. The rules are in games/yacht_auction/protocol.md.
import * as readline from "readline";

const categories = [
  "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "CHOICE",
  "FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT",
];

function total(dice: string): number {
  return [...dice].reduce((sum, die) => sum + Number(die), 0);
}

class Bot {
  private bundles: Record<string, string> = {};
  private dice = ""; // what we hold: five dice, ten between an auction and the scoring after it

  /** The line to write, or undefined if the command expects no reply. */
  answer(line: string): string | undefined {
    const [command, ...words] = line.split(" ");
    switch (command) {
      case "READY":
        return "OK";
      case "ROLL": {
        // Bid half of the difference for the bundle with more pips.
        const [A, B] = words;
        this.bundles = { A, B };
        const lead = total(A) - total(B);
        return `BID ${lead >= 0 ? "A" : "B"} ${500 * Math.abs(lead)}`;
      }
      case "GET": // GET A B 500: we got A; the other player wanted B and bid 500
        this.dice += this.bundles[words[0]];
        return undefined;
      case "SCORE": {
        // The first five dice, in the first category that is unused.
        const chosen = this.dice.slice(0, 5);
        this.dice = this.dice.slice(5);
        return `PUT ${categories.shift()} ${chosen}`;
      }
      case "FINISH":
        process.exit(0);
      default: // SET says what the other player scored; it expects no answer
        return undefined;
    }
  }
}

const bot = new Bot();
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const reply = bot.answer(line);
  if (reply !== undefined) console.log(reply); // Node writes to a pipe at once
});
