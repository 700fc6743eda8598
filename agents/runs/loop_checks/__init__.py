"""The three checks of an assistant's loop, for operators: is it closed, and if not, where.

Place in the house: ``agents.runs``; the command ``verify_loop`` and the admin call ``verifying``.
Does the model return a well-formed call; does it go on with a result; does a loop end by itself.
"""
