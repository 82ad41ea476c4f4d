"""The command-line program `deadheat`."""
