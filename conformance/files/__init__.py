"""Files: strict YAML, tolerant JSON, `${variables}`, and where the data of the suite is."""
