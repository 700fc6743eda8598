"""Bundles: the whole configuration as one JSON or YAML file.

``parsing`` reads text, ``validation`` judges it (pure), ``importing`` and ``exporting`` meet the
database.
"""
