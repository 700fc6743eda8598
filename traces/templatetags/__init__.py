"""Template tags of the traces app."""
