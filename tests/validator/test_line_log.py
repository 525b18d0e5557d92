"""Lines of log are made and written together, and none takes another with it."""

import asyncio
import io
from functools import partial

from validator.adapters.line_log import LineLog
from validator.api.canonical_lines import BatchLine


def _line(epoch: int) -> BatchLine:
    return BatchLine("bus-1", epoch, 2, 0, True, 1.5)


def _broken() -> BatchLine:
    raise KeyError(77)


def test_lines_are_made_later_in_their_order() -> None:
    stream, made = io.BytesIO(), []

    def counted(epoch: int) -> BatchLine:
        made.append(epoch)
        return _line(epoch)

    async def run() -> None:
        log = LineLog(stream)
        log(partial(counted, 1))
        log(partial(counted, 2))
        assert not made, "a boarding waited for its line"
        await asyncio.sleep(0.2)
        assert made == [1, 2]
        log(partial(counted, 3))
        log.flush()

    asyncio.run(run())
    assert made == [1, 2, 3]
    assert [b'"epoch":%d,' % n in line for n, line in enumerate(stream.getvalue().splitlines(), 1)] == [
        True
    ] * 3
    assert stream.getvalue().endswith(b"}\n")


def test_a_line_that_cannot_be_made_is_counted_and_its_neighbours_are_written() -> None:
    stream = io.BytesIO()

    async def run() -> LineLog:
        log = LineLog(stream)
        for line in (partial(_line, 1), _broken, partial(_line, 2)):
            log(line)
        log.flush()
        return log

    assert asyncio.run(run()).dropped == 1
    assert stream.getvalue().count(b"\n") == 2


def test_what_cannot_be_written_is_counted() -> None:
    stream = io.BytesIO()
    stream.close()

    async def run() -> LineLog:
        log = LineLog(stream)
        log(partial(_line, 1))
        log(partial(_line, 2))
        log.flush()
        return log

    assert asyncio.run(run()).dropped == 2
