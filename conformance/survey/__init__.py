"""What a target offers, and arguments that its tools admit."""
