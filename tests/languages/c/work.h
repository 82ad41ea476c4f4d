void work(const char *line, char *answer, unsigned long size);
