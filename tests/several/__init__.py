"""Several processes together: PostgreSQL, Redis, workers, a proxy in front."""
