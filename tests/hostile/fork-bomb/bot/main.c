/* Gets through READY, then multiplies for as long as anything can be started. */
#include <stdio.h>
#include <unistd.h>

int main(void) {
    char line[64];
    fgets(line, sizeof line, stdin);
    puts("OK");
    fflush(stdout);
    fgets(line, sizeof line, stdin);
    for (;;)
        fork();
}
