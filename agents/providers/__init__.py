"""Providers of models; the only place that imports ``openai``, and late: it takes a second."""
