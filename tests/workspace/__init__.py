"""Directories in which assistants work."""
