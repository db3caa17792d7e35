"""Thin routes: they check access, call the store or the engine, and give the result its form."""
