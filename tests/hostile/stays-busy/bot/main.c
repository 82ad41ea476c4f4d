/* A host that watched for eight limits only found too little own time for a verdict, if it was busy enough. */
#include "player.h"

enum { CHILDREN = 16 };

int main(void) {
    while (hear()) {
        for (int child = 0; is("ROLL") && child < CHILDREN; child++)
            if (fork() == 0)
                for (;;) {}
        while (is("ROLL")) {}
        play();
    }
}
