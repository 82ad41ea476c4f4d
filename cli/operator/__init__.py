"""What an operator does on a machine of the deployment."""
