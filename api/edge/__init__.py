"""What strangers cost: connections, rates, uploads, sessions, caches."""
