"""This machine: whether it may judge, and who has which of its processors."""
