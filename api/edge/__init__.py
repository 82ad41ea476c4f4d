"""Protection against strangers: connections, rates, uploads, sessions, caches."""
