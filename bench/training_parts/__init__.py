"""The pictures of bench/training.py."""
