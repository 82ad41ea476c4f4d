"""HTTP: the versioned API, the pages, and the endpoints for operators."""
