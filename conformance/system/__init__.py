"""The machine: processes and their end, signals, standard streams that are closed or full."""
