"""Use half a gigabyte, eight threads, a file in /tmp and a module of its own, as every language's folder does."""

from work import work

for line in iter(input, "FINISH"):
    print(work(line), flush=True)
