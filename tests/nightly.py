"""What takes long runs at night: with ABH_NIGHTLY=1."""

import os
import unittest

nightly = unittest.skipUnless(os.environ.get("ABH_NIGHTLY") == "1", "at night: with ABH_NIGHTLY=1")
