"""The database's schema, and moving a league: backup, restore, copies between databases, room on disks."""
