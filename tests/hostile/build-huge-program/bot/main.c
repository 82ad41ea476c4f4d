static volatile char table[200000000] = {1};
int main(void) { return table[0]; }
