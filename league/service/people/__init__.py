"""People: accounts, tokens and sessions, teams, and what organisers announce to them."""
