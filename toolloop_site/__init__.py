"""The Django project: settings from the environment, routes, the ASGI application."""
