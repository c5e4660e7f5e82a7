"""Comparisons with other libraries in which agreement comes before speed."""
