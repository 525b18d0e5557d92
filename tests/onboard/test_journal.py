"""The journal on the device's disk: numbered, chained, exact, kept until the service has it."""

import shutil
import sqlite3
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from validator.onboard.journal import KEPT_FOR, Draft, Entry, EntryWord, Installation, Journal
from validator.onboard.journal_file import JournalError
from validator.records.device_messages import chain_next, chain_start, digest_of

AT = datetime(2026, 3, 2, 10, 15, tzinfo=UTC)
KEY = bytes(range(32))


def installation(epoch: int = 1, key: bytes = KEY) -> Installation:
    return Installation("val-001", epoch, key, f"val-001.secret-{epoch}")


def draft(text: str = "tap", boarding_id: str = "b") -> Draft:
    return Draft(EntryWord.TAP, boarding_id, lambda seq: f'{{"device_seq":{seq},"text":"{text}"}}'.encode())


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path / "journal.sqlite")
    journal.install(installation(), AT)
    yield journal
    journal.close()


def reopened(journal: Journal) -> Journal:
    journal.close()
    return Journal(journal.path)


def heads_of(entries: list[Entry], device_id: str, epoch: int) -> list[bytes]:
    heads, head = [], chain_start(device_id, epoch)
    for entry in entries:
        head = chain_next(head, digest_of(device_id, entry.exact))
        heads.append(head)
    return heads


def test_numbers_begin_at_one_and_have_no_gaps_over_restarts(journal: Journal):
    for _ in range(3):
        journal.append(draft(), AT)
    journal = reopened(journal)
    entry = journal.append(draft(), AT)

    assert entry.seq == 4
    assert [e.seq for e in journal.entries(1, after=0, limit=10)] == [1, 2, 3, 4]
    journal.close()


def test_the_exact_bytes_and_the_chain_over_them_are_kept(journal: Journal):
    written = [journal.append(draft(text), AT) for text in ("a", "ç", "c")]
    found = journal.entries(1, after=0, limit=10)

    assert [e.exact for e in found] == [e.exact for e in written]
    assert [e.head for e in found] == heads_of(found, "val-001", 1)
    assert journal.last(1) == (3, found[-1].head)
    assert journal.check(1) == 3


def test_what_is_written_beside_an_entry_is_there_with_it_or_not_at_all(journal: Journal):
    def fail(_connection: sqlite3.Connection, _seq: int) -> None:
        raise sqlite3.IntegrityError("beside")

    with pytest.raises(sqlite3.IntegrityError):
        journal.append(Draft(EntryWord.RELEASE, "b", lambda _seq: b"{}", fail), AT)

    assert journal.last(1)[0] == 0
    assert journal.append(draft(), AT).seq == 1


def test_a_device_that_is_not_installed_writes_nothing(tmp_path: Path):
    journal = Journal(tmp_path / "journal.sqlite")

    with pytest.raises(JournalError, match="enrol"):
        journal.append(draft(), AT)
    journal.close()


def test_a_reinstallation_begins_a_new_epoch_and_keeps_the_old_one(journal: Journal):
    journal.append(draft(), AT)
    journal.install(installation(2, bytes(32)), AT)
    entry = journal.append(draft(), AT)

    assert (entry.epoch, entry.seq) == (2, 1)
    assert journal.epochs() == [1, 2]
    assert journal.last(1)[0] == 1
    assert entry.head == chain_next(chain_start("val-001", 2), digest_of("val-001", entry.exact))


def test_an_epoch_never_comes_again(journal: Journal):
    journal.install(installation(3, bytes(32)), AT)

    with pytest.raises(JournalError, match="época 3"):
        journal.install(installation(2, bytes([1]) * 32), AT)
    with pytest.raises(JournalError, match="época 3"):
        journal.install(installation(3, bytes([1]) * 32), AT)


def test_the_same_installation_told_twice_only_renews_its_token(journal: Journal):
    journal.append(draft(), AT)
    journal.install(Installation("val-001", 1, KEY, "val-001.other"), AT)
    found = journal.installation()

    assert found is not None
    assert found.token == "val-001.other"
    assert journal.append(draft(), AT).seq == 2


def test_the_key_of_an_unfinished_installation_is_made_once(tmp_path: Path):
    journal = Journal(tmp_path / "journal.sqlite")
    keys = iter([KEY, bytes(32)])
    first = journal.pending_key(lambda: next(keys))
    journal = reopened(journal)
    again = journal.pending_key(lambda: next(keys))
    journal.install(installation(1, again), AT)

    assert first == again == KEY
    assert journal.pending_key(lambda: next(keys)) == bytes(32)
    journal.close()


def test_an_altered_entry_is_noticed_at_the_next_start(journal: Journal):
    for _ in range(3):
        journal.append(draft(), AT)
    journal.write("UPDATE entries SET exact = ? WHERE seq = 2", (b"{}",))

    with pytest.raises(JournalError, match="sequência 2"):
        reopened(journal)


def test_a_missing_entry_is_noticed_at_the_next_start(journal: Journal):
    for _ in range(3):
        journal.append(draft(), AT)
    journal.write("DELETE FROM entries WHERE seq = 2", ())

    with pytest.raises(JournalError, match="falta a sequência 2"):
        reopened(journal)


def test_a_file_that_is_no_journal_is_left_alone(tmp_path: Path):
    path = tmp_path / "journal.sqlite"
    path.write_bytes(b"not a database, but perhaps somebody's only copy" * 100)
    before = path.read_bytes()

    with pytest.raises(JournalError, match="guarde o arquivo"):
        Journal(path)
    assert path.read_bytes() == before


def test_only_the_owner_may_read_the_file_that_holds_the_key(journal: Journal):
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600


def test_durable_never_goes_back(journal: Journal):
    for _ in range(5):
        journal.append(draft(), AT)

    assert journal.durable(1, 4)
    assert journal.durable(1, 2)
    found = journal.installation()
    assert found is not None
    assert found.durable_seq == 4


def test_a_service_that_has_more_than_was_written_shows_an_older_copy_of_the_file(journal: Journal):
    journal.append(draft(), AT)

    assert not journal.durable(1, 9)


def test_an_entry_that_is_not_durable_is_kept_whatever_its_age(journal: Journal):
    for _ in range(10):
        journal.append(draft(), AT)
    journal.durable(1, 4)

    assert journal.prune(AT + timedelta(days=3_650)) == 4
    assert [e.seq for e in journal.entries(1, after=0, limit=20)] == [5, 6, 7, 8, 9, 10]


def test_a_durable_entry_stays_thirty_days(journal: Journal):
    for day in range(40):
        journal.append(draft(), AT + timedelta(days=day))
    journal.durable(1, 40)
    journal.prune(AT + timedelta(days=40))
    kept = journal.entries(1, after=0, limit=100)

    assert [e.seq for e in kept] == list(range(11, 41))
    assert timedelta(days=30) == KEPT_FOR


def test_numbers_and_chain_go_on_behind_what_was_dropped(journal: Journal):
    for _ in range(10):
        journal.append(draft(), AT)
    whole = journal.entries(1, after=0, limit=20)
    journal.durable(1, 10)
    journal.prune(AT + timedelta(days=60))
    journal = reopened(journal)
    entry = journal.append(draft(), AT)

    assert entry.seq == 11
    assert entry.head == heads_of([*whole, entry], "val-001", 1)[-1]
    assert journal.check(1) == 2
    journal.close()


def test_two_programs_on_one_file_never_give_a_number_twice(journal: Journal):
    other = Journal(journal.path)
    seqs = [(journal if n % 2 else other).append(draft(), AT).seq for n in range(10)]

    assert seqs == list(range(1, 11))
    assert other.check(1) == 10
    other.close()


@settings(max_examples=60, deadline=None)
@given(kept=st.integers(0, 100), garbage=st.binary(max_size=64))
def test_a_log_that_was_cut_off_by_a_loss_of_power_leaves_a_whole_beginning(
    tmp_path_factory: pytest.TempPathFactory, kept: int, garbage: bytes
):
    """Power goes while the end of the write-ahead log is not on the disk yet, or is written in part."""
    folder = tmp_path_factory.mktemp("power")
    journal = Journal(folder / "journal.sqlite")
    journal.install(installation(), AT)
    written = [journal.append(draft(str(n)), AT) for n in range(12)]
    other = tmp_path_factory.mktemp("after")
    shutil.copy(folder / "journal.sqlite", other / "journal.sqlite")
    log = (folder / "journal.sqlite-wal").read_bytes()
    installed = log.index(b"val-001.secret-1") + 13_000
    end = installed + (len(log) - installed) * kept // 100
    (other / "journal.sqlite-wal").write_bytes(log[:end] + garbage)
    journal.close()

    after = Journal(other / "journal.sqlite")
    entries = after.entries(1, after=0, limit=100)
    assert entries == written[: len(entries)]
    assert after.append(draft("next"), AT).seq == len(entries) + 1
    assert after.check(1) == len(entries) + 1
    after.close()


def test_every_commit_is_on_the_disk_before_it_returns(journal: Journal):
    assert journal.read("PRAGMA journal_mode", ()) == [("wal",)]
    (synchronous,) = journal._writer.execute("PRAGMA synchronous").fetchone()
    assert synchronous == 2


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(["append", "reopen", "install", "durable", "prune"]), max_size=30))
def test_whatever_happens_every_epoch_is_numbered_without_gaps(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
):
    journal = Journal(tmp_path_factory.mktemp("journal") / "journal.sqlite")
    journal.install(installation(), AT)
    written: dict[int, list[Entry]] = {1: []}
    epoch, now = 1, AT
    for step in steps:
        now += timedelta(days=9)
        if step == "append":
            written[epoch].append(journal.append(draft(str(now)), now))
        elif step == "reopen":
            journal = reopened(journal)
        elif step == "install":
            epoch += 1
            journal.install(installation(epoch, bytes([epoch]) * 32), now)
            written[epoch] = []
        elif step == "durable":
            journal.durable(epoch, len(written[epoch]) // 2)
        else:
            journal.prune(now)

    for number, entries in written.items():
        assert [e.seq for e in entries] == list(range(1, len(entries) + 1))
        assert [e.head for e in entries] == heads_of(entries, "val-001", number)
        kept = journal.entries(number, after=0, limit=100)
        assert kept == entries[len(entries) - len(kept) :]
        assert len(kept) >= len(entries) - len(entries) // 2
        journal.check(number)
    journal.close()
