"""HTTP's own shapes: requests (in which unknown fields are errors), and lists of records."""
