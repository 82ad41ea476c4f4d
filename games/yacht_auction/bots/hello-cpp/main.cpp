// The smallest Yacht Auction bot that plays a legal match. The rules are in games/yacht_auction/protocol.md.
#include <array>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>

constexpr std::array categories{
    "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "CHOICE",
    "FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT",
};

int total(const std::string &dice) {
    return std::accumulate(dice.begin(), dice.end(), 0, [](int sum, char die) { return sum + die - '0'; });
}

int main() {
    std::array<std::string, 2> bundles;
    std::string dice;  // what we hold: five dice, ten between an auction and the scoring after it
    auto unused = categories.begin();

    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words{line};
        std::string command;
        words >> command;
        if (command == "READY") {
            std::cout << "OK" << std::endl;  // endl flushes; without that the line would arrive too late
        } else if (command == "ROLL") {  // bid half of the difference for the bundle with more pips
            words >> bundles[0] >> bundles[1];
            const int lead = total(bundles[0]) - total(bundles[1]);
            std::cout << "BID " << (lead >= 0 ? 'A' : 'B') << ' ' << 500 * std::abs(lead) << std::endl;
        } else if (command == "GET") {  // GET A B 500: we got A; the other player wanted B and bid 500
            char ours = 'A';
            words >> ours;
            dice += bundles.at(ours - 'A');
        } else if (command == "SCORE") {  // the first five dice, in the first category that is unused
            std::cout << "PUT " << *unused++ << ' ' << dice.substr(0, 5) << std::endl;
            dice.erase(0, 5);
        } else if (command == "FINISH") {
            break;
        }  // SET says what the other player scored; it expects no answer
    }
}
