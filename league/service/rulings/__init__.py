"""What organisers and operators decide: on matches, appeals and accounts."""
