"""The base of every use case: steps from state to state, the life of a job, the audit log, which matches count."""
