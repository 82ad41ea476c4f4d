"""Checks that anybody can make without the database: of transcripts, rankings, dice, and the audit log."""
