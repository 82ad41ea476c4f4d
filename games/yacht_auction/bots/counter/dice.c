#include "dice.h"

const char *const category_names[CATEGORIES] = {
    "ONE",    "TWO",            "THREE",      "FOUR",           "FIVE",           "SIX",
    "CHOICE", "FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT",
};

Hand hand_from(const char *dice) {
    Hand hand = {{0}};
    for (; *dice >= '1' && *dice <= '6'; dice++)
        hand.count[*dice - '1']++;
    return hand;
}

Hand hand_plus(const Hand *one, const Hand *other) {
    Hand sum = *one;
    for (int face = 0; face < FACES; face++)
        sum.count[face] += other->count[face];
    return sum;
}

Hand hand_minus(const Hand *all, const Hand *part) {
    Hand rest = *all;
    for (int face = 0; face < FACES; face++)
        rest.count[face] -= part->count[face];
    return rest;
}

void hand_print(const Hand *hand, char *text) {
    for (int face = 0; face < FACES; face++)
        for (int i = 0; i < hand->count[face]; i++)
            *text++ = (char)('1' + face);
    *text = '\0';
}

/* Sum of the `wanted` highest dice. */
static int highest(const Hand *hand, int wanted) {
    int sum = 0;
    for (int face = FACES - 1; face >= 0; face--)
        for (int i = 0; i < hand->count[face] && wanted > 0; i++, wanted--)
            sum += face + 1;
    return sum;
}

static int four_of_a_kind(const Hand *hand) {
    int best = 0;
    for (int face = 0; face < FACES; face++) {
        if (hand->count[face] < 4)
            continue;
        Hand rest = *hand;
        rest.count[face] -= 4;
        int sum = 4 * (face + 1) + highest(&rest, 1);
        best = sum > best ? sum : best;
    }
    return best;
}

/* Five equal dice are a full house too. */
static int full_house(const Hand *hand) {
    int best = 0;
    for (int three = 0; three < FACES; three++) {
        for (int two = 0; two < FACES; two++) {
            int needed = three == two ? 5 : 3;
            if (hand->count[three] < needed || hand->count[two] < 2)
                continue;
            int sum = 3 * (three + 1) + 2 * (two + 1);
            best = sum > best ? sum : best;
        }
    }
    return best;
}

/* Length of the longest run of neighbouring faces. */
static int longest_run(const Hand *hand) {
    int run = 0, longest = 0;
    for (int face = 0; face < FACES; face++) {
        run = hand->count[face] ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static int most_of_a_face(const Hand *hand) {
    int most = 0;
    for (int face = 0; face < FACES; face++)
        most = hand->count[face] > most ? hand->count[face] : most;
    return most;
}

int best_points(const Hand *hand, int category) {
    switch (category) {
    case 6:
        return 1000 * highest(hand, 5);
    case 7:
        return 1000 * four_of_a_kind(hand);
    case 8:
        return 1000 * full_house(hand);
    case 9:
        return longest_run(hand) >= 4 ? 15000 : 0;
    case 10:
        return longest_run(hand) >= 5 ? 30000 : 0;
    case 11:
        return most_of_a_face(hand) >= 5 ? 50000 : 0;
    default: { /* a basic category */
        int count = hand->count[category] < 5 ? hand->count[category] : 5;
        return 1000 * (category + 1) * count;
    }
    }
}
