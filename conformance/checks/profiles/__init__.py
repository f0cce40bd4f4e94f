"""What client programs are known to need beyond the specification: advice, for those that the user names."""
