#include "work.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, MIB = 512 };

static void *sum(void *total) {
    for (int i = 0; i < 100000; i++)
        *(double *)total += sqrt(i);
    return NULL;
}

void work(const char *line, char *answer, unsigned long size) {
    char *memory = malloc((size_t)MIB << 20), copy[100] = "";
    memset(memory, 1, (size_t)MIB << 20);
    pthread_t threads[THREADS];
    double totals[THREADS] = {0};
    int joined = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, sum, &totals[i]);
    for (int i = 0; i < THREADS; i++)
        joined += pthread_join(threads[i], NULL) == 0 && totals[i] == totals[0];
    FILE *file = tmpfile();
    fputs(line, file);
    rewind(file);
    fgets(copy, sizeof copy, file);
    fclose(file);
    snprintf(answer, size, "%s %d %d", copy, memory[12345] * MIB, joined);
    free(memory);
}
