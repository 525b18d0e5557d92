"""Wycheproof's Ed25519 vectors through both verify paths: the service's and the device's."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from validator.adapters import ed25519_keys
from validator.onboard import keys

pytestmark = pytest.mark.outside


@pytest.mark.parametrize("verify", [ed25519_keys.verify, keys.verify], ids=["service", "device"])
def test_wycheproof(outside_data: Path, verify: Callable[[bytes, bytes, bytes], bool]):
    data = json.loads((outside_data / "data" / "crypto" / "ed25519_test.json").read_text(encoding="utf-8"))
    judged, wrong = 0, []
    for group in data["testGroups"]:
        key = bytes.fromhex(group["publicKey"]["pk"])
        for case in group["tests"]:
            true = verify(key, bytes.fromhex(case["sig"]), bytes.fromhex(case["msg"]))
            judged += 1
            if true is not (case["result"] == "valid"):
                wrong.append((case["tcId"], case["result"], case["comment"]))

    assert judged == data["numberOfTests"]
    assert wrong == []
