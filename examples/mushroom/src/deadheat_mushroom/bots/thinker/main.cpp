// A Mushroom bot that looks ahead: alpha-beta over the moves with the most to gain, one turn deeper each time, until
// its time for the turn is over or it has seen enough positions. The rules are in protocol.md. The bot also advises
// (see deadheat/engine/advice.py): PLAYED tells it what its seat did instead.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int ROWS = 10, COLUMNS = 17, SUM = 10, LOST = 1000, DEEPEST = 24;
constexpr int WIDE = 24, NARROW = 10;   // how many moves are looked at: at the root, and below it
constexpr long ENOUGH = 40000;          // positions a turn, so that a fast machine plays as an ordinary one does
constexpr int SHARE = 30;               // a turn may use one part in so many of what is left in the bank
constexpr int RESERVE_MS = 300;         // never used for thinking
constexpr long ADVICE_MS = 4000;        // for advice, which has 5 s: enough is seen before, so equal questions end alike

enum Owner : signed char { NOBODY = 0, MINE = 1, THEIRS = -1 };

struct Move {
    int top, left, bottom, right, gain;
};
constexpr Move PASS{-1, -1, -1, -1, 0};

struct Board {
    std::array<std::array<signed char, COLUMNS>, ROWS> digits{}, owners{};

    void take(const Move &move, Owner owner) {
        for (int row = move.top; row <= move.bottom; row++)
            for (int column = move.left; column <= move.right; column++) {
                digits[row][column] = 0;
                owners[row][column] = owner;
            }
    }

    // By how much a rectangle changes the difference of the scores for its taker.
    int gain(int top, int left, int bottom, int right, Owner owner) const {
        int found = 0;
        for (int row = top; row <= bottom; row++)
            for (int column = left; column <= right; column++)
                found += 1 - owner * owners[row][column];
        return found;
    }

    bool touched(int row, int left, int right) const {
        return std::any_of(&digits[row][left], &digits[row][right] + 1, [](int digit) { return digit != 0; });
    }

    // The moves with the most to gain, best first.
    std::vector<Move> moves(Owner owner, std::size_t most) const {
        std::vector<Move> found;
        for (int top = 0; top < ROWS; top++) {
            std::array<int, COLUMNS> sums{};
            for (int bottom = top; bottom < ROWS; bottom++) {
                for (int column = 0; column < COLUMNS; column++)
                    sums[column] += digits[bottom][column];
                for (int left = 0; left < COLUMNS; left++) {
                    int total = 0, right = left;
                    for (; sums[left] && right < COLUMNS && total + sums[right] <= SUM; right++) {
                        total += sums[right];
                        if (total == SUM && sums[right])
                            break;
                    }
                    if (total == SUM && touched(top, left, right) && touched(bottom, left, right))
                        found.push_back({top, left, bottom, right, gain(top, left, bottom, right, owner)});
                }
            }
        }
        auto better = [](const Move &one, const Move &other) { return one.gain > other.gain; };
        std::stable_sort(found.begin(), found.end(), better);
        if (found.size() > most)
            found.resize(most);
        return found;
    }
};

class Search {
  public:
    Search(const Board &board, int score, long time_ms)
        : board(board), score(score), until(Clock::now() + std::chrono::milliseconds(time_ms)) {}

    // `passed`: the other player has just passed, so that a pass ends the match.
    Move best(bool passed) {
        if (passed && score > 0)
            return PASS; // the match ends, and is won
        std::vector<Move> moves = board.moves(MINE, WIDE);
        if (moves.empty())
            return PASS;
        Move chosen = moves.front();
        for (int depth = 1; depth <= DEEPEST && !over(); depth++) {
            int highest = -LOST * 2;
            std::size_t first = 0;
            for (std::size_t i = 0; i <= moves.size(); i++) {
                const Move move = i < moves.size() ? moves[i] : PASS;
                int value = after(board, move, MINE, score, depth, highest, LOST * 2, passed);
                if (over())
                    break;
                if (value > highest) {
                    highest = value;
                    first = i;
                }
            }
            if (over() && depth > 1)
                break; // only a search that was completed counts
            chosen = first < moves.size() ? moves[first] : PASS;
            if (first < moves.size())
                std::rotate(moves.begin(), moves.begin() + first, moves.begin() + first + 1);
        }
        return chosen;
    }

  private:
    using Clock = std::chrono::steady_clock;
    const Board &board;
    const int score;
    const Clock::time_point until;
    long seen = 0;
    bool late = false;

    bool over() {
        if (!late && seen % 64 == 0)
            late = Clock::now() >= until;
        return late || seen >= ENOUGH;
    }

    // The value of a move for its mover, who is ahead by `ahead`.
    int after(const Board &now, const Move &move, Owner mover, int ahead, int depth, int alpha, int beta, bool passed) {
        const Owner other = mover == MINE ? THEIRS : MINE;
        if (move.top < 0) {
            if (passed)
                return ended(ahead);
            return -value(now, other, -ahead, depth - 1, -beta, -alpha, true);
        }
        Board next = now;
        next.take(move, mover);
        return -value(next, other, -ahead - move.gain, depth - 1, -beta, -alpha, false);
    }

    int value(const Board &now, Owner mover, int ahead, int depth, int alpha, int beta, bool passed) {
        seen++;
        if (depth <= 0 || over())
            return ahead;
        int highest = -LOST * 2;
        for (const Move &move : now.moves(mover, NARROW)) {
            highest = std::max(highest, after(now, move, mover, ahead, depth, alpha, beta, passed));
            alpha = std::max(alpha, highest);
            if (alpha >= beta)
                return highest;
        }
        return std::max(highest, after(now, PASS, mover, ahead, depth, alpha, beta, passed));
    }

    static int ended(int ahead) { return ahead > 0 ? LOST + ahead : ahead < 0 ? ahead - LOST : 0; }
};

struct State {
    Board board;
    int score = 0; // our cells less theirs

    // Apply a move as it was sent. Returns whether it was a pass.
    bool apply(std::istringstream &words, Owner owner) {
        Move move{};
        words >> move.top >> move.left >> move.bottom >> move.right;
        if (move.top < 0)
            return true;
        score += owner * board.gain(move.top, move.left, move.bottom, move.right, owner);
        board.take(move, owner);
        return false;
    }
};

} // namespace

int main() {
    State now, asked; // `asked`: as it was at the last TIME
    bool passed = false, advises = false;
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string command;
        words >> command;
        if (command == "READY") {
            std::cout << "OK" << std::endl;
        } else if (command == "INIT") {
            std::string digits;
            for (int row = 0; row < ROWS && words >> digits; row++)
                for (std::size_t column = 0; column < digits.size() && column < COLUMNS; column++)
                    now.board.digits[row][column] = static_cast<signed char>(digits[column] - '0');
        } else if (command == "OPP") {
            passed = now.apply(words, THEIRS);
        } else if (command == "ADVISE") {
            advises = true;
        } else if (command == "PLAYED") {
            now = asked;
            now.apply(words, MINE);
        } else if (command == "TIME") {
            long mine_ms = 0;
            words >> mine_ms;
            asked = now;
            const long time_ms = advises ? ADVICE_MS : std::max(1L, (mine_ms - RESERVE_MS) / SHARE);
            const Move move = Search(now.board, now.score, time_ms).best(passed);
            if (move.top >= 0) {
                now.score += move.gain;
                now.board.take(move, MINE);
            }
            passed = false;
            std::printf("%d %d %d %d\n", move.top, move.left, move.bottom, move.right);
            std::fflush(stdout);
        } else if (command == "FINISH") {
            break;
        }
    }
}
