"""Settings of all tests."""

from hypothesis import settings

# A machine that is busy with something else is no failure.
settings.register_profile("widemargin", deadline=None)
settings.load_profile("widemargin")
