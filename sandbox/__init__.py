"""Run programs that nobody trusts, within limits, and carry lines to them under deadlines."""
