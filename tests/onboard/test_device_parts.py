"""The small parts of a device: its clock, when it waits for the service, and what it makes of a reader's lines."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from validator.onboard.device_clock import DeviceClock
from validator.onboard.link_state import LinkState, Patience
from validator.onboard.reader import LineUnreadable, ReaderMessage, TripMessage, card_text, read_line
from validator.records.device_messages import CardMedium, CashMedium, DocumentMedium, KeyMedium, UidMedium

AT = datetime(2026, 3, 2, 10, 15, tzinfo=UTC)
TOKEN = "AEAAC" + "A" * 127


class HandClock:
    """A machine's clock and its uptime, set by hand."""

    def __init__(self, at: datetime) -> None:
        self.at = at
        self.uptime = 1_000.0

    def system(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.uptime

    def pass_time(self, by: timedelta) -> None:
        self.at += by
        self.uptime += by.total_seconds()


def clocks(at: datetime) -> tuple[HandClock, DeviceClock]:
    hand = HandClock(at)
    return hand, DeviceClock(hand.system, hand.monotonic)


# The clock


@pytest.mark.parametrize("shown", [datetime(1970, 1, 1, tzinfo=UTC), AT + timedelta(days=365)])
def test_a_clock_that_the_list_proves_wrong_is_written_down_but_does_not_decide(shown: datetime):
    hand, clock = clocks(shown)
    hand.pass_time(timedelta(minutes=10))

    assert clock.now() == shown + timedelta(minutes=10)
    assert clock.believed(AT) == AT + timedelta(minutes=10)


def test_a_right_clock_decides():
    _, clock = clocks(AT + timedelta(hours=30))

    assert clock.believed(AT) == clock.believed(None) == AT + timedelta(hours=30)


def test_each_contact_measures_the_skew_and_sets_the_clock():
    hand, clock = clocks(datetime(1970, 1, 1, tzinfo=UTC))
    clock.contact(AT)
    hand.pass_time(timedelta(seconds=30))

    assert clock.skew == datetime(1970, 1, 1, tzinfo=UTC) - AT
    assert clock.now() == AT + timedelta(seconds=30)


def test_a_skew_of_a_second_is_left_alone():
    _, clock = clocks(AT + timedelta(seconds=1))
    clock.contact(AT)

    assert clock.now() == AT + timedelta(seconds=1)


# Waiting for the service


def test_the_first_good_exchange_puts_a_device_online():
    state = LinkState()
    state.worked(AT)

    assert state.online


def test_one_failure_changes_nothing_and_two_in_a_row_end_the_waiting():
    state = LinkState()
    state.worked(AT)
    state.failed(AT)
    state.worked(AT)
    state.failed(AT)
    assert state.online
    state.failed(AT)

    assert not state.online


def test_a_device_waits_again_after_three_good_probes_and_not_before_its_time():
    state = LinkState()
    state.worked(AT)
    state.failed(AT)
    state.failed(AT)
    states = []
    for second in range(3, 40, 3):
        state.worked(AT + timedelta(seconds=second))
        states.append(state.online)

    assert states.index(True) >= 3
    assert all(states[states.index(True) :])


@given(worked=st.lists(st.booleans(), min_size=200, max_size=600))
def test_a_bad_link_never_makes_a_device_flap(worked: list[bool]):
    """In ten minutes of one exchange a second it changes at most a dozen times, whatever the link does."""
    state = LinkState(Patience())
    for second, good in enumerate(worked):
        (state.worked if good else state.failed)(AT + timedelta(seconds=second))

    assert state.switches <= 12


def test_the_worst_link_is_waited_for_less_and_less():
    state = LinkState()
    waits = 0
    for second in range(3600):
        at = AT + timedelta(seconds=second)
        if state.online:
            state.failed(at)
            waits += 1
        else:
            state.worked(at)

    assert waits <= 40


# The reader


@pytest.mark.parametrize(
    "line",
    [
        TOKEN,
        TOKEN.lower(),
        f"  {TOKEN}\r\n",
        f"]Q3{TOKEN}",
        f"\\000026{TOKEN}",
        f"]Q1\\000026{TOKEN}",
        f"\x02{TOKEN}\x03",
        f"\ufeff{TOKEN}",
    ],
)
def test_a_keyboard_wedge_line_is_a_card_without_what_the_reader_adds(line: str):
    assert read_line(line) == ReaderMessage(tap=CardMedium(TOKEN))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f'{{"tap":{{"kind":"card","token":"{TOKEN}"}}}}', ReaderMessage(tap=CardMedium(TOKEN))),
        ('{"tap":{"kind":"key","category":"CHILD"}}', ReaderMessage(tap=KeyMedium("CHILD"))),
        (
            '{"tap":{"kind":"document","category":"ELDER","document":"RG"}}',
            ReaderMessage(tap=DocumentMedium("ELDER", "RG")),
        ),
        ('{"tap":{"kind":"uid","uid":"04:a2:b3:c4"}}', ReaderMessage(tap=UidMedium("04A2B3C4"))),
        ("04 a2 b3 c4 d5 e6 80\r\n", ReaderMessage(tap=UidMedium("04A2B3C4D5E680"))),
        ('{"tap":{"kind":"cash","tendered_cents":1000}}', ReaderMessage(tap=CashMedium(1000))),
        (
            '{"trip":{"line":"102","trip":"102-0715-I"}}',
            ReaderMessage(trip=TripMessage("102", None, "102-0715-I")),
        ),
        ('{"trip_ended":true}', ReaderMessage(trip_ended=True)),
        ('{"not_turned":true}', ReaderMessage(not_turned=True)),
        ("", None),
        ("   \r\n", None),
    ],
)
def test_a_json_line_says_what_happened(line: str, message: ReaderMessage | None):
    assert read_line(line) == message


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "{}",
        '{"tap":{"kind":"cash","tendered_cents":"5"}}',
        '{"tap":{"kind":"cash","tendered_cents":-1}}',
        '{"tap":{"kind":"boat"}}',
        '{"tap":{"kind":"uid","uid":"04A2B3"}}',
        '{"trip_ended":true,"not_turned":true}',
        '{"unknown":1}',
        "x" * 5_000,
    ],
)
def test_a_line_that_says_nothing_is_refused_and_harms_nobody(line: str):
    with pytest.raises(LineUnreadable):
        read_line(line)


@given(text=st.text(max_size=600))
def test_whatever_a_reader_sends_is_a_card_text_that_fits_the_wire(text: str):
    assert 1 <= len(card_text(text)) <= 512
