"""Looks for inputs that break the function: ``python -m tests.fuzz --seconds 60``."""
