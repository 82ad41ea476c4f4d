"""Checks of transcripts, rankings, dice and the audit log that anybody can make without the database."""
