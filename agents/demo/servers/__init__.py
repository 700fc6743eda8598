"""The demo's MCP servers, each a program of its own over stdio."""
