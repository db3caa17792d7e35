"""What the methods for grades are made of: scales, tables of grades, and how likely each annotator gives each grade."""
