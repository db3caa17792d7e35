"""How good is a ranking: measures against gold, significance tests, and methods compared side by side."""
