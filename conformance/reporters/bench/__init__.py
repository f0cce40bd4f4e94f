"""Views of a bench: a table for the terminal, a page. All are made from its report, see `schemas/bench.json`."""
