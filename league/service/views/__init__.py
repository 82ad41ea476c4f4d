"""Views for people: matches, bots, queues, and the reasons why something waits or does not count."""
