"""This machine: its fitness to judge, and the use of its processors."""
