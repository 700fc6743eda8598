"""Template tags of the agents app."""
