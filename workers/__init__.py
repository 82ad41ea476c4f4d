"""Carries out jobs: thin Celery tasks around build and play."""
