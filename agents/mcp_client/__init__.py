"""The MCP side of the house: connections to servers, their tools and their results.

Place in the house: implements ``ToolCaller`` of ``agents.loop.interfaces``; knows ``agents.loop``
and nothing of Django. ``pool`` is the way in. The ``mcp`` package takes about a second to import,
so it is imported by the modules that the first connect loads, and nowhere else.
"""
