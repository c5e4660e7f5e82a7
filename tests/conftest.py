"""Settings of all tests."""

import os

from hypothesis import settings

os.environ["MPLBACKEND"] = "agg"  # pictures are drawn where there is no screen, too

# A machine that is busy with something else is no failure.
settings.register_profile("widemargin", deadline=None)
settings.load_profile("widemargin")
