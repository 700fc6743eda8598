"""Servers that come with the application: Python modules whose functions are tools."""
