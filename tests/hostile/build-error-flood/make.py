"""One warning of ten megabytes, which the compiler repeats with its source for each of ten inclusions."""

import random

from making import upload, zipped

text = bytes(random.Random(0).choices(b"abcdefgh", k=10_000)) * 1000
source = '#include "warning.h"\n' * 10 + "int main(void) { return nowhere; }\n"

upload("bot.zip", zipped(("main.c", source.encode()), ("warning.h", b"#warning first " + text + b" last\n")))
