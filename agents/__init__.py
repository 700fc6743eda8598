"""Assistants that use tools over MCP: configuration, the loop, runs."""
