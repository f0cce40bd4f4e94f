"""One server under load: how fast it answers, what it costs, and what goes wrong when it is asked much."""
