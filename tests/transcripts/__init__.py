"""Conversations as files."""
