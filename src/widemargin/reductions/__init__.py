"""Tasks turned into box problems, and solutions turned back into decision functions."""
