"""The queue between the league and its workers, and the brokers that may carry it."""
