"""Views of matches in a terminal, from the games' folders. Matches of other games are shown line by line."""
