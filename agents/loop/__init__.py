"""The tool loop: pure, typed, without Django. Start reading at ``run.py``."""
