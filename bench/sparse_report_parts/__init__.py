"""What sparse_report.py is made of."""
