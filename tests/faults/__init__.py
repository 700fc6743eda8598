"""Faults that other tool loops have shown, each as a test at the level of the real wire."""
