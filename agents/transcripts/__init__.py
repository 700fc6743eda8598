"""Conversations as JSON Lines, out and in again.

Place in the house: ``agents.transcripts``; pages and commands call it. ``docs/transcripts.md`` is
the format. ``writing`` makes lines of a stored conversation; ``reading`` and ``checking`` judge a
file, line by line, before ``storing`` writes anything.
"""
