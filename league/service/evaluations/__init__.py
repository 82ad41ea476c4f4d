"""Evaluations: tournaments beside a season's ladder, on a timetable, with standings of their own."""
