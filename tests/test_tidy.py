"""The style that a machine can check. The limits here may only be tightened.

Ruff, mypy and import-linter check the rest; this page holds what they cannot say.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PACKAGES = ("validator", "backoffice", "loadtests", "tests")

FILE_LINES = 400
FUNCTION_LINES = 60
NAMES_THAT_SAY_NOTHING = {"utils", "util", "common", "helpers", "helper", "core", "misc", "shared", "stuff"}
# Written in halves, so that this file does not find itself.
UNFINISHED = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "NotImple" + "mentedError"]))
MACHINE_PATH = re.compile(
    "|".join(["/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/", "/Us" + "ers/", "/t" + "mp/"])
)
REGISTRY = re.compile("|".join(["py" + r"pi\.org", "python" + r"hosted\.org", "registry." + r"npmjs\.org"]))
TEXT_SUFFIXES = {
    ".py",
    ".toml",
    ".lua",
    ".sql",
    ".md",
    ".lock",
    ".html",
    ".mako",
    ".yaml",
    ".yml",
    ".css",
    ".js",
}


def python_files() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def text_files() -> Iterator[Path]:
    roots = [ROOT / name for name in (*PACKAGES, "docs", ".ci")]
    for root in roots:
        yield from (path for path in sorted(root.rglob("*")) if path.is_file() and is_text(path))
    yield from (path for path in sorted(ROOT.iterdir()) if path.is_file() and is_text(path))


def is_text(path: Path) -> bool:
    if "__pycache__" in path.parts or path.name.startswith(".coverage"):
        return False
    return path.suffix in TEXT_SUFFIXES or path.name in ("Makefile", "run", ".gitignore")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name_of(path)}:{number}: {line.strip()}"
        for path in text_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if pattern.search(line)
    ]


def functions_of(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def project() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def wanted(*, with_tools: bool) -> list[Requirement]:
    settings = project()
    lines = [*settings["project"]["dependencies"], *settings["dependency-groups"]["build"]]
    if with_tools:
        lines += settings["dependency-groups"]["dev"]
    return [Requirement(line) for line in lines]


def test_a_file_is_short_enough_to_read_at_once():
    long = {name_of(path): lines for path in python_files() if (lines := line_count(path)) > FILE_LINES}

    assert long == {}


def line_count(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_a_function_fits_on_a_screen():
    long = {
        f"{name_of(path)}:{function.lineno} {function.name}": lines
        for path in python_files()
        for function in functions_of(path)
        if (lines := (function.end_lineno or function.lineno) - function.lineno + 1) > FUNCTION_LINES
    }

    assert long == {}


def test_a_module_is_named_for_what_it_is():
    nameless = [
        name_of(path)
        for path in python_files()
        if NAMES_THAT_SAY_NOTHING & {path.stem, *path.relative_to(ROOT).parent.parts}
    ]

    assert nameless == []


def test_nothing_is_left_unfinished():
    assert lines_with(UNFINISHED) == []


def test_no_path_of_anybodys_machine():
    assert lines_with(MACHINE_PATH) == []


def test_no_file_names_a_package_registry():
    assert lines_with(REGISTRY) == []


def test_our_own_code_is_never_replaced_by_a_mock():
    imports = re.compile(r"^\s*(from|import) (unittest" + r"\.mock|mock\b)|\bmocker" + r"\b")

    assert lines_with(imports) == []


@pytest.mark.parametrize("package", ["validator/domain", "backoffice/domain"])
def test_the_law_knows_no_floating_point(package: str):
    floats = [
        f"{name_of(path)}:{node.lineno}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Constant) and isinstance(node.value, float))
        or (isinstance(node, ast.Name) and node.id == "float")
    ]

    assert floats == []


@pytest.mark.parametrize(
    ("lock", "with_tools"), [("requirements.lock", False), ("requirements-dev.lock", True)]
)
def test_the_lock_has_what_the_project_asks_for(lock: str, with_tools: bool):
    pins = dict(
        re.findall(r"^([a-z0-9.-]+)(?:\[[a-z,]+\])?==([^ \\]+)", (ROOT / lock).read_text(), re.MULTILINE)
    )
    unmet = [
        str(requirement)
        for requirement in wanted(with_tools=with_tools)
        if pins.get(canonicalize_name(requirement.name), "") not in requirement.specifier
    ]

    assert unmet == []


def test_both_locks_pin_the_same_versions():
    pin = re.compile(r"^([a-z0-9.-]+)(?:\[[a-z,]+\])?==([^ \\]+)", re.MULTILINE)
    runtime, tools = (
        dict(pin.findall((ROOT / name).read_text()))
        for name in ("requirements.lock", "requirements-dev.lock")
    )

    assert runtime.items() <= tools.items()


def test_every_dependency_has_its_reason():
    page = (ROOT / "docs/decisions/0001-dependencies.md").read_text(encoding="utf-8")
    rows = {
        name.strip() for row in re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE) for name in row.split(",")
    }
    named = {canonicalize_name(name.split("[")[0]) for name in rows - {"package", "---"}}

    assert named == {canonicalize_name(requirement.name) for requirement in wanted(with_tools=True)}
