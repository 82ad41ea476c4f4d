"""What the league tells: one frozen class for each record, which use cases build, and HTTP and pages show."""
