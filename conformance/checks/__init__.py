"""What judges a target: invariants, probes, campaigns, profiles, and the ledger that they write into."""
