"""A stored trace as a person reads it: verdicts, totals, tree, rail, details, ledger, smells.

Place in the house: ``traces``, pure but for gettext. Rows and payloads in, ready-to-print values
out. Start at ``traces.inspection.build``; what it returns is in ``view_models`` (the page),
``detail_models`` (one selected span) and ``panel_models`` (ledger, limits, growth, smells).
"""
