"""The parts of bench/report.py: rows -> sections -> measures -> pictures, tables and the page."""
