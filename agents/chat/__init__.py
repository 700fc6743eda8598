"""What the chat page shows: view models, rendering, fragments.

Place in the house: ``agents``, beside the views and the consumers that use it. Reads stored rows
and live runs, writes nothing.
"""
