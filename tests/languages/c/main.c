#include <stdio.h>
#include <string.h>

#include "work.h"

int main(void) {
    char line[100], answer[200];
    while (fgets(line, sizeof line, stdin) && strcmp(line, "FINISH\n") != 0) {
        line[strcspn(line, "\n")] = 0;
        work(line, answer, sizeof answer);
        puts(answer);
        fflush(stdout);
    }
}
