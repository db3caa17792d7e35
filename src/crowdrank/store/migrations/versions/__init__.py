"""One file for each schema, each naming the one before."""
