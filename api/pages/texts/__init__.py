"""Pages that read like a book: docs, their search, the API, and the page Style."""
