"""What every use case stands on: steps from state to state, the life of a job, the audit log, which matches count."""
