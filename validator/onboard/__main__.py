"""`python -m validator.onboard`."""

import sys

from validator.onboard.cli import main

sys.exit(main())
