"""The comparison of linear machines: time to the same gap, whatever each tolerance means."""
