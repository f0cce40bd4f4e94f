"""A conversation with a target in one revision: messages, trace, answers of ours, how long we wait."""
