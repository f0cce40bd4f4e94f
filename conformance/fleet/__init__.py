"""Many servers, each tested by a run of its own, on the workers of a Dask cluster."""
