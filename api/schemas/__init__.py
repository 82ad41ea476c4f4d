"""The shapes of HTTP that are its own: what may be sent (nothing unknown is ignored), and lists of records."""
