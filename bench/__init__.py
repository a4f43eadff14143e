"""Benchmarks against peers, measured side by side: ``python -m bench``."""
