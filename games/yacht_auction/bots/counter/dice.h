/* Dice and the twelve scoring categories of Yacht Auction. */
#ifndef DICE_H
#define DICE_H

enum { FACES = 6, CATEGORIES = 12, BASIC = 6 }; /* category 0 to 5 count the dice of face 1 to 6 */

/* How often each face occurs; count[0] is of the ones. */
typedef struct {
    int count[FACES];
} Hand;

extern const char *const category_names[CATEGORIES];

Hand hand_from(const char *dice);                   /* "11236" */
Hand hand_plus(const Hand *one, const Hand *other); /* both together */
Hand hand_minus(const Hand *all, const Hand *part); /* part must be in all */
void hand_print(const Hand *hand, char *text);      /* the inverse of hand_from */

/* The most points that any five of the dice score in a category. */
int best_points(const Hand *hand, int category);

#endif
