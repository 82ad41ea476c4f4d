"""The `deadheat` command."""
