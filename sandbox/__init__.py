"""Runs untrusted programs within limits, and carries lines to them under deadlines."""
