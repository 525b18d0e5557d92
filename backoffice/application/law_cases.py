"""Run golden cases: the law as examples, in files that any vendor can write and run (`docs/law.md`).

Each case of a file goes through the product's own `decide`, acquisition or rating; only the keys that its `expect`
names are compared. A file or case that breaks the format is reported with its field and what to write; the others run.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from backoffice.adapters.law_file import law_from
from backoffice.application.law_case_acquire import acquired
from backoffice.application.law_case_decide import decided
from backoffice.application.law_case_expect import read_expected
from backoffice.application.law_case_fields import CaseError, Fields, without_repeats
from backoffice.application.law_case_rate import rated
from validator.domain.rules import LawError, RuleBook

KINDS: Mapping[str, Callable[[Fields, RuleBook], dict[str, object]]] = {
    "decide": decided,
    "acquire": acquired,
    "rate": rated,
}
"""What each kind of case is run through."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one case, or of a file that holds none.

    Attributes:
        where: File and case.
        fault: What differs or breaks the format; None where the case passed.
    """

    where: str
    fault: str | None


def check_law(paths: Iterable[Path], out: TextIO, *, law: Path | None = None) -> int:
    """Run all cases of some files and report on `out`: a line per case that fails, then `N passed, M failed`.

    Args:
        paths: Files of cases.
        out: Where the report goes.
        law: Another rule table; None for the packaged one.

    Returns:
        The exit code: 0 where all cases passed, else 1.
    """
    try:
        book = law_from(law)
    except LawError as error:
        _say(out, str(error))
        return 1
    passed = failed = 0
    for path in paths:
        for verdict in run_file(path, book):
            if verdict.fault is None:
                passed += 1
            else:
                failed += 1
                _say(out, f"{verdict.where}: {verdict.fault}")
    _say(out, f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def run_file(path: Path, book: RuleBook) -> Iterator[Verdict]:
    """The verdict of every case of a file; a single one for a file that cannot be read."""
    try:
        cases = _cases_of(path)
    except CaseError as error:
        yield Verdict(str(path), str(error))
        return
    for number, raw in enumerate(cases, start=1):
        yield Verdict(f"{path}: {_label(number, raw)}", _fault(raw, book))


def _cases_of(path: Path) -> list[object]:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise CaseError("", f"cannot be read ({error.strerror}); name a file of cases in JSON") from error
    if text.startswith(b"\xef\xbb\xbf"):
        raise CaseError("", "begins with a byte order mark; save the file as UTF-8 without it")
    try:
        file = json.loads(
            text.decode("utf-8"), object_pairs_hook=without_repeats, parse_constant=_no_constant
        )
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise CaseError("", f"line {line} is not UTF-8; save the file as UTF-8") from error
    except RecursionError as error:
        raise CaseError("", "is nested too deeply to be a file of cases") from error
    except ValueError as error:
        raise CaseError("", f"is no JSON: {error}") from error
    if not isinstance(file, dict):
        raise CaseError("", 'holds no object; write {"cases": [...]}')
    fields = Fields(file, "")
    cases = fields.value("cases", 'a list of cases: {"cases": [...]}')
    if not isinstance(cases, list):
        raise fields.wrong("cases", 'a list of cases: {"cases": [...]}')
    fields.done()
    if not cases:
        raise fields.error(
            "cases", "is empty; write at least one case, since a file without any proves nothing"
        )
    return cases


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a number of JSON")


def _label(number: int, raw: object) -> str:
    name = raw.get("name") if isinstance(raw, dict) else None
    return (
        f"case {number} {json.dumps(name, ensure_ascii=False)}" if isinstance(name, str) else f"case {number}"
    )


def _fault(raw: object, book: RuleBook) -> str | None:
    """What is wrong with one case: a breach of the format, or each value that differs."""
    try:
        case = Fields(raw, "")
        case.text("name")
        kind = case.value("kind", f"one of {', '.join(KINDS)}")
        if not isinstance(kind, str) or kind not in KINDS:
            raise case.wrong("kind", f"one of {', '.join(KINDS)}")
        expected = read_expected(case.inner("expect"), kind)
        found = KINDS[kind](case, book)
        case.done()
    except CaseError as error:
        return str(error)
    faults = [
        f"{key} is {_written(found.get(key))}, expected {_written(value)}"
        for key, value in expected.items()
        if found.get(key) != value
    ]
    return "; ".join(faults) or None


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _say(out: TextIO, line: str) -> None:
    """One line, whatever a name of a case holds and whatever the terminal can show."""
    flat = " ".join(line.splitlines())
    encoding = out.encoding or "utf-8"
    out.write(flat.encode(encoding, "backslashreplace").decode(encoding) + "\n")
