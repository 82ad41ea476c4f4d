"""What everybody can do on one machine, without a server."""
