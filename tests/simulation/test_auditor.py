"""The auditor is independent: it reads facts, and nothing that the product computes with."""

import ast
from pathlib import Path

HERE = Path(__file__).parent
PARTS = ("breakdown", "claims", "law", "journal", "hot", "month")
INDEPENDENT = ("auditor", *(f"auditor_{part}" for part in PARTS), "facts")
STANDARD = {"collections", "dataclasses", "datetime", "hashlib", "json", "typing"}


def imported(name: str) -> set[str]:
    tree = ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def test_the_auditor_imports_nothing_of_the_product():
    allowed = {f"tests.simulation.{name}" for name in INDEPENDENT}
    for name in INDEPENDENT:
        strangers = {
            one for one in imported(name) if one not in allowed and one.split(".")[0] not in STANDARD
        }
        assert not strangers, f"{name} imports {strangers}"
