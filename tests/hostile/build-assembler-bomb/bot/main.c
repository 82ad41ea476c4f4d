__asm__(".fill 1 << 40, 1, 0");
int main(void) { return 0; }
