"""Command line, target file and client configurations → what is to be tested, and how."""
