"""Carry out jobs: thin Celery tasks around build and play."""
