"""Half a gigabyte, eight threads, a file in /tmp and a module of its own; the same in every language's folder."""

from work import work

for line in iter(input, "FINISH"):
    print(work(line), flush=True)
