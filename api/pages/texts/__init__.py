"""Pages to read: docs, their search, the API, and the page Style."""
