"""The city's zone is there on a machine that has no zone data: it is a dependency, and start-up needs it."""

import subprocess
import sys

_TELL = (
    "from datetime import datetime; from validator.domain.service_time import civil_date;"
    "print(civil_date(datetime.fromisoformat('2026-03-02T02:59:59+00:00')))"
)


def test_the_zone_comes_with_the_product(tmp_path):
    environment = {"PYTHONTZPATH": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}

    told = subprocess.run([sys.executable, "-c", _TELL], env=environment, capture_output=True, text=True)

    assert (told.stdout, told.stderr) == ("2026-03-01\n", "")
