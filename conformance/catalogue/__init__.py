"""What there is to test: requirements, cases, the pattern language, selection, common mistakes."""
