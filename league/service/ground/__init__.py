"""What every use case stands on: steps from state to state, the audit log, which matches count, causes of failure."""
