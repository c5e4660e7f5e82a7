"""Support vector machines, every fit certified by a duality gap."""
