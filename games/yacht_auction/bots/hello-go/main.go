// The smallest Yacht Auction bot that plays a legal match. The rules are in games/yacht_auction/protocol.md.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

var categories = []string{
	"ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "CHOICE",
	"FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT",
}

func total(dice string) (sum int) {
	for _, die := range dice {
		sum += int(die - '0')
	}
	return sum
}

func main() {
	var bundles [2]string
	dice := "" // what we hold: five dice, ten between an auction and the scoring after it
	used := 0

	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		words := strings.Fields(input.Text())
		switch words[0] { // fmt.Println and Printf write to standard output at once
		case "READY":
			fmt.Println("OK")
		case "ROLL": // bid half of the difference for the bundle with more pips
			copy(bundles[:], words[1:])
			target, lead := "A", total(bundles[0])-total(bundles[1])
			if lead < 0 {
				target, lead = "B", -lead
			}
			fmt.Printf("BID %s %d\n", target, 500*lead)
		case "GET": // GET A B 500: we got A; the other player wanted B and bid 500
			dice += bundles[words[1][0]-'A']
		case "SCORE": // the first five dice, in the first category that is unused
			fmt.Printf("PUT %s %s\n", categories[used], dice[:5])
			dice = dice[5:]
			used++
		case "FINISH":
			return
		} // SET says what the other player scored; it expects no answer
	}
}
