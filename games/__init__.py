"""The games of the house, one folder each; `engine.games` finds them and says what a folder holds."""
