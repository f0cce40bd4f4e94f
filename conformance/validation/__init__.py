"""JSON Schemas: those of the protocol, those that servers and users write, and pointers into documents."""
