"""HTTP in and out: the versioned API, the pages, and what operators look at."""
