"""Directories in which assistants work, and the walls around them."""
