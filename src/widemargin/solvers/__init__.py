"""Algorithms, one per file, written over the operations of a backend."""
