"""Sends people's notices to their webhooks and e-mail addresses."""
