"""Beyond memory and beyond one machine: large arrays in files, files read in pieces, fits on a Ray cluster."""
