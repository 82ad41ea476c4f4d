"""Commands for operators, on a machine of the deployment."""
