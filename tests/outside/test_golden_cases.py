"""The golden cases of the outside data: worked out by hand from the law, and nobody's implementation."""

import io
import os
from pathlib import Path

import pytest

from backoffice.application.law_cases import check_law

pytestmark = pytest.mark.outside


def test_every_golden_case_passes():
    folder = Path(os.environ["CATRACA_OUTSIDE_DATA"]) / "cases"
    files = sorted(folder.glob("*.json"))
    out = io.StringIO()

    code = check_law(files, out)

    assert len(files) >= 3
    assert code == 0, out.getvalue()
    assert not out.getvalue().startswith("0 passed")
