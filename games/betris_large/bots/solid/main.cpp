// A Betris bot in C++ that plays out the rest of the match in its head.
//
// Every promising placement is judged by the average score of a hundred futures: random blocks for the rounds that
// are left, each placed by a quick rule. All placements are judged by the same futures, so what differs is
// the placement and not the luck. The bet is one chip, which is half a point, for each point that the better block
// brings above the other, so half of the gain is kept.
//
// A board is a number whose bit 8 * row + column is set where a cell is filled, so that a shift moves all cells at
// once; the eighth column stays empty, so nothing that is moved over one edge reappears at the other.
//
// One command a line on standard input; every reply is flushed. The rules: games/betris_large/protocol.md.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using Board = std::uint64_t;

constexpr int side = 7, stride = 8, max_bet = 5;
constexpr int futures = 100;   // a match takes about 0.1 s of the 10 s that there are
constexpr int promising = 10;  // placements that are looked at closely

// One form of each block; the others are made from it by turning and flipping.
const std::vector<std::pair<std::string, std::string>> shapes = {
    {"I1", "#"},           {"I2", "##"},          {"I3", "###"},         {"L3", "#./##"},       {"I4", "####"},
    {"L4", "#../###"},     {"S4", ".##/##."},     {"T4", "###/.#."},     {"O4", "##/##"},       {"I5", "#####"},
    {"L5", "#.../####"},   {"F5", ".##/##./.#."}, {"N5", "##../.###"},   {"P5", "##/##/#."},    {"T5", "###/.#./.#."},
    {"U5", "#.#/###"},     {"V5", "#../#../###"}, {"W5", "#../##./.##"}, {"X5", ".#./###/.#."}, {"Y5", ".#../####"},
    {"Z5", "##./.#./.##"},
};

Board cell(int row, int column) { return Board{1} << (stride * row + column); }

// Every way to place a block on an empty board.
std::vector<Board> placements(const std::string &shape) {
    std::vector<std::pair<int, int>> cells;
    int row = 0, column = 0;
    for (char mark : shape) {
        if (mark == '#')
            cells.emplace_back(row, column);
        column = mark == '/' ? 0 : column + 1;
        row += mark == '/';
    }
    std::set<Board> found;
    for (int turn = 0; turn < 8; turn++) {
        for (auto &[x, y] : cells) {
            y = turn == 4 ? -y : y;  // a flip, once
            x = std::exchange(y, -x); // a quarter turn
        }
        for (int top = -side; top < side; top++) {
            for (int left = -side; left < side; left++) {
                Board board = 0;
                bool inside = true;
                for (auto [x, y] : cells) {
                    inside = inside && 0 <= x + top && x + top < side && 0 <= y + left && y + left < side;
                    board |= inside ? cell(x + top, y + left) : 0;
                }
                if (inside)
                    found.insert(board);
            }
        }
    }
    return {found.begin(), found.end()};
}

int points(Board board) {
    int largest = 0;
    for (Board corners = board; corners; largest++) // upper left corners of all filled squares of a side
        corners &= corners >> 1 & corners >> stride & corners >> (stride + 1);
    return std::popcount(board) + largest * largest;
}

// The edges between an empty cell and a filled one, or the board's edge: few of them, and the empty cells lie together.
int edges(Board board) {
    static const Board full = 0x007f7f7f7f7f7f7f;
    Board empty = full & ~board;
    return std::popcount(empty & ~(empty << 1)) + std::popcount(empty & ~(empty >> 1)) +
           std::popcount(empty & ~(empty << stride)) + std::popcount(empty & ~(empty >> stride));
}

// The quick rule: what a board seems worth with that many rounds left.
int looks(Board board, int rounds) { return 2 * points(board) - (rounds ? edges(board) : 0); }

class Bot {
  public:
    // Returns the line to print, or "" if the command expects no reply.
    std::string answer(const std::string &line) {
        std::istringstream words(line);
        std::string command, a, b;
        words >> command >> a >> b;
        if (command == "READY")
            return "OK";
        if (command == "PHASE1") // PHASE1 I2 F5 9000 8500
            return bet(a, b);
        if (command == "PHASE2") { // PHASE2 F5 20 24 8990 8400: the block we got, both players' chips and times
            chips_ = std::stoi(b);
            return place(plans_[a].second);
        }
        return ""; // OPP says where the other player placed its block, which we ignore
    }

  private:
    using Plan = std::pair<double, Board>; // what is expected, and the board to get there

    std::map<std::string, std::vector<Board>> placements_ = [] {
        std::map<std::string, std::vector<Board>> all;
        for (const auto &[name, shape] : shapes)
            all[name] = placements(shape);
        return all;
    }();
    std::vector<std::vector<Board>> blocks_ = [this] {
        std::vector<std::vector<Board>> all;
        for (const auto &[name, places] : placements_)
            all.push_back(places);
        return all;
    }();
    Board board_ = 0;
    int rounds_ = 12, chips_ = 24; // rounds still to come
    std::map<std::string, Plan> plans_;

    // The rest of a match by the quick rule, with the blocks that `random` brings.
    int future(Board board, int rounds, std::minstd_rand random) const {
        while (rounds-- > 0) {
            const auto &places = blocks_[random() / 7 % blocks_.size()];
            Board best = board;
            int most = looks(board, rounds);
            for (Board place : places) {
                if (board & place)
                    continue;
                int value = looks(board | place, rounds);
                if (value > most) {
                    most = value;
                    best = board | place;
                }
            }
            board = best;
        }
        return points(board);
    }

    Plan plan(const std::string &block) const {
        std::vector<std::pair<int, Board>> found = {{looks(board_, rounds_), board_}}; // to pass
        for (Board place : placements_.at(block))
            if (!(board_ & place))
                found.emplace_back(looks(board_ | place, rounds_), board_ | place);
        std::sort(found.begin(), found.end(), std::greater<>());
        found.resize(std::min<std::size_t>(found.size(), promising));
        Plan best = {-1, board_};
        for (auto [value, board] : found) {
            double sum = 0;
            for (int n = 0; n < futures; n++)
                sum += future(board, rounds_, std::minstd_rand(1000 * rounds_ + n + 1));
            best = std::max(best, Plan(sum / futures, board));
        }
        return best;
    }

    std::string bet(const std::string &a, const std::string &b) {
        rounds_--;
        plans_ = {{a, plan(a)}, {b, plan(b)}};
        double gain = plans_[a].first - plans_[b].first;
        int amount = std::min({static_cast<int>(std::abs(gain)), max_bet, chips_}); // a chip is half a point
        return "BET " + (gain > 0 ? a : b) + " " + std::to_string(amount);
    }

    std::string place(Board after) {
        Board placed = after & ~board_;
        board_ = after;
        std::string reply = "PLACE " + std::to_string(std::popcount(placed));
        for (int row = 0; row < side; row++)
            for (int column = 0; column < side; column++)
                if (placed & cell(row, column))
                    reply += " " + std::to_string(row + 1) + " " + std::to_string(column + 1);
        return reply;
    }
};

int main() {
    Bot bot;
    for (std::string line; std::getline(std::cin, line) && line.rfind("FINISH", 0) != 0;) {
        std::string reply = bot.answer(line);
        if (!reply.empty())
            std::cout << reply << std::endl; // which flushes; else the line may arrive too late
    }
}
