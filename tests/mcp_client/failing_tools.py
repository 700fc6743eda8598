"""A module that cannot be imported."""

raise RuntimeError("no licence file")
