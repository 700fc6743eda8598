"""The demo: three small MCP servers and a practice model. Nothing here is intelligent.

Place in the house: ``agents.demo``; seeded by ``manage.py seed_demo``, used by ``make run``.
"""

PRACTICE_BASE_URL = "http://practice-model.invalid/v1"
"""The address that stands for the practice model: it is answered inside the process."""

PRACTICE_MODEL = "practice"
