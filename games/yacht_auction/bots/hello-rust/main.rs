//! The smallest Yacht Auction bot that plays a legal match. The rules are in games/yacht_auction/protocol.md.
use std::io::{self, BufRead, Write};

const CATEGORIES: [&str; 12] = [
    "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "CHOICE",
    "FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT",
];

fn total(dice: &str) -> i32 {
    dice.bytes().map(|die| i32::from(die - b'0')).sum()
}

#[derive(Default)]
struct Bot {
    bundles: [String; 2],
    dice: String, // what we hold: five dice, ten between an auction and the scoring after it
    used: usize,
}

impl Bot {
    /// The line to write, or None if the command expects no reply.
    fn answer(&mut self, line: &str) -> Option<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["READY"] => Some("OK".into()),
            ["ROLL", a, b] => {
                // Bid half of the difference for the bundle with more pips.
                self.bundles = [a.into(), b.into()];
                let lead = total(a) - total(b);
                Some(format!("BID {} {}", if lead >= 0 { 'A' } else { 'B' }, 500 * lead.abs()))
            }
            ["GET", ours, ..] => {
                // GET A B 500: we got A; the other player wanted B and bid 500
                self.dice += &self.bundles[usize::from(ours == "B")];
                None
            }
            ["SCORE"] => {
                // The first five dice, in the first category that is unused.
                let chosen: String = self.dice.drain(..5).collect();
                self.used += 1;
                Some(format!("PUT {} {chosen}", CATEGORIES[self.used - 1]))
            }
            _ => None, // SET says what the other player scored; it expects no answer
        }
    }
}

fn main() -> io::Result<()> {
    let mut bot = Bot::default();
    let mut output = io::stdout();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line == "FINISH" {
            break;
        }
        if let Some(reply) = bot.answer(&line) {
            writeln!(output, "{reply}")?;
            output.flush()?; // or the line would arrive too late
        }
    }
    Ok(())
}
