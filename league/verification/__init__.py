"""What anybody can check without the database: transcripts, rankings, dice, and the audit log."""
