"""Series of matches from the plan to the stored result, and the machines that play them."""
