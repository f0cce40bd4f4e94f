"""The commands beside the run itself. Each module imports what it needs when it is called."""
