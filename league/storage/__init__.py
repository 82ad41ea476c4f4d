"""The database's schema, and operations on a whole league: backup, restore, copies between databases, disk space."""
