/* The result is fixed before FINISH is sent, and exit codes are noted only (C-10). */
#include "player.h"

int main(void) {
    while (scored < 12 && hear())
        play();
    return 7;
}
