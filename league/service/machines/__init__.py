"""Machines that play over HTTP: who they are, and what they may play."""
