// The smallest Yacht Auction bot that plays a legal match. The rules are in games/yacht_auction/protocol.md.
"use strict";
const readline = require("node:readline");

const categories = [
  "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "CHOICE",
  "FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT",
];
const total = (dice) => [...dice].reduce((sum, die) => sum + Number(die), 0);

let bundles = {};
let dice = ""; // what we hold: five dice, ten between an auction and the scoring after it

const commands = {
  READY: () => "OK",
  ROLL: (A, B) => {
    // Bid half of the difference for the bundle with more pips.
    bundles = { A, B };
    const lead = total(A) - total(B);
    return `BID ${lead >= 0 ? "A" : "B"} ${500 * Math.abs(lead)}`;
  },
  GET: (ours) => {
    // GET A B 500: we got A; the other player wanted B and bid 500
    dice += bundles[ours];
  },
  SCORE: () => {
    // The first five dice, in the first category that is unused.
    const chosen = dice.slice(0, 5);
    dice = dice.slice(5);
    return `PUT ${categories.shift()} ${chosen}`;
  },
  SET: () => {}, // what the other player scored; it expects no answer
  FINISH: () => process.exit(0),
};

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const [command, ...words] = line.split(" ");
  const reply = commands[command](...words);
  if (reply !== undefined) console.log(reply); // Node writes to a pipe at once
});
