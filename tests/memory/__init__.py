"""Notes that assistants keep."""
