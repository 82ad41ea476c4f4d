"""Duels: unrated games of one version against another, at a promotion gate, on request, or against a panel."""
