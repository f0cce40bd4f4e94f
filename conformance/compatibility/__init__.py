"""What changed between two versions of a server, and whom it breaks: schemas, snapshots, reports of findings."""
