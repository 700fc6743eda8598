"""The pages in a real browser, against a running Daphne with the demo."""
