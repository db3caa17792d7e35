"""Charts of what was found."""
