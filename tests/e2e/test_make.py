import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_make_alone_lists_the_targets():
    ended = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)

    for target in ("install", "demo", "check"):
        assert f"make {target} " in ended.stdout
