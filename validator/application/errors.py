"""What can go wrong before a boarding has an answer. A refusal is an answer and none of these.

BoardingError
+-- Malformed               the message cannot be read, or breaks its form           422
+-- DeviceUnknown           no such device, another token, or revoked                401
+-- BoardingIdConflict      the id was used for another tap; the first one stands    409
+-- NotServed               the service cannot answer now; the same tap later can    503
    +-- HotStateAway        Redis cannot be reached, or has not been verified yet
    +-- HotStateFull        Redis has no memory left and would not write
    +-- HotStateBusy        the holder changed under every attempt
    +-- ShardFenced         the holder's shard is being rebuilt
    +-- UsageLost           a holder without usage: never counted from zero
    +-- RegisterBehind      a true card that is not published yet
    +-- BoardingPending     it cites a boarding that is not recorded yet
    +-- CityMissing         no city, or no fare for the ride
    +-- Damaged             a record of the hot state cannot be read
    +-- Overloaded          more taps in flight than the service takes on
"""

import itertools
from typing import ClassVar

from validator.domain.reasons import Reason


class BoardingError(Exception):
    """Base: `slug` names the problem on the wire; `pt` and `en` say what happened and what to send instead."""

    slug: ClassVar[str] = "internal"

    def __init__(self, pt: str, en: str) -> None:
        super().__init__(en)
        self.pt = pt
        self.en = en


class Malformed(BoardingError):
    """A message that cannot be read or breaks its form; nothing was recorded.

    Attributes:
        field: Path of the field, `$` for the whole message.
    """

    slug = "malformed"

    def __init__(self, field: str, pt: str, en: str) -> None:
        super().__init__(pt, en)
        self.field = field


class DeviceUnknown(BoardingError):
    """No such device, another token, or a revoked device."""

    slug = "device-unknown"

    def __init__(self) -> None:
        super().__init__(
            "O validador não é conhecido ou foi revogado. Envie o cabeçalho Authorization: Bearer <código do "
            "validador>.<segredo> com o segredo emitido no cadastro.",
            "The device is unknown or revoked. Send the header Authorization: Bearer <device id>.<secret> with the "
            "secret that the register issued.",
        )


class BoardingIdConflict(BoardingError):
    """The boarding id was used for another tap; that one stands, and this one is kept as evidence."""

    slug = "boarding-id-conflict"
    reason = Reason.BOARDING_ID_CONFLICT

    def __init__(self) -> None:
        super().__init__(
            f"{self.reason.sentence()} Envie um novo boarding_id para um novo toque.",
            f"{self.reason.sentence('en')} Send a new boarding_id for a new tap.",
        )


class NotServed(BoardingError):
    """The service cannot answer now; the same bytes sent again later get their answer."""

    slug = "not-served"
    retry_after_s: int = 1


class HotStateAway(NotServed):
    """Redis cannot be reached, or the ingester has not compared it with SQL yet."""

    slug = "hot-state-away"

    def __init__(self) -> None:
        super().__init__(
            "O estado quente (Redis) não está disponível ou ainda não foi conferido. Decida pela política da "
            "categoria e envie os mesmos bytes de novo.",
            "The hot state (Redis) is away or not verified yet. Decide by the policy of the category and send the "
            "same bytes again.",
        )


class HotStateFull(NotServed):
    """Redis has reached its `maxmemory`: it still answers what it knows, and takes nothing new."""

    slug = "hot-state-full"
    retry_after_s = 10

    def __init__(self) -> None:
        super().__init__(
            "O estado quente (Redis) está sem memória e não grava. Decida pela política da categoria e envie os mesmos "
            "bytes de novo; quem opera deve aumentar o maxmemory.",
            "The hot state (Redis) is out of memory and writes nothing. Decide by the policy of the category and send "
            "the same bytes again; its operator must raise maxmemory.",
        )


class HotStateBusy(NotServed):
    """The holder's usage changed under every attempt."""

    slug = "hot-state-busy"

    def __init__(self) -> None:
        super().__init__(
            "O titular está sendo usado em muitos validadores ao mesmo tempo. Envie os mesmos bytes de novo.",
            "The holder is in use on many validators at once. Send the same bytes again.",
        )


class ShardFenced(NotServed):
    """The shard of the holder or device is fenced: it is being rebuilt."""

    slug = "shard-fenced"

    def __init__(self) -> None:
        super().__init__(
            "Esta parte do estado quente está sendo refeita. Envie os mesmos bytes de novo.",
            "This part of the hot state is being rebuilt. Send the same bytes again.",
        )


class UsageLost(NotServed):
    """A holder without usage: the count is lost, never zero.

    Attributes:
        shard: The shard that must be fenced and rebuilt.
    """

    slug = "usage-lost"

    def __init__(self, shard: int) -> None:
        super().__init__(
            "A contagem de uso do titular se perdeu e está sendo refeita. Envie os mesmos bytes de novo.",
            "The holder's usage was lost and is being rebuilt. Send the same bytes again.",
        )
        self.shard = shard


class RegisterBehind(NotServed):
    """A card with a true signature that is not published yet."""

    slug = "register-behind"

    def __init__(self) -> None:
        super().__init__(
            "O cartão é autêntico, mas o cadastro ainda não foi publicado. Envie os mesmos bytes de novo.",
            "The card is authentic, but its record is not published yet. Send the same bytes again.",
        )


class BoardingPending(NotServed):
    """A release or an annulment whose boarding was seen but is not recorded yet; it would have no effect now."""

    slug = "boarding-pending"

    def __init__(self) -> None:
        super().__init__(
            "O embarque citado ainda não foi registrado. Envie primeiro o toque, depois esta entrada, com os mesmos "
            "bytes.",
            "The boarding that it cites is not recorded yet. Send the tap first, then this entry, with the same bytes.",
        )


class CityMissing(NotServed):
    """No city was published, or its fares do not price this ride."""

    slug = "city-missing"

    def __init__(self) -> None:
        super().__init__(
            "Faltam regras ou tarifas publicadas para este embarque. Publique a cidade; envie os mesmos bytes de novo.",
            "Rules or fares for this boarding are not published. Publish the city; send the same bytes again.",
        )


class Damaged(NotServed):
    """A record of the hot state that cannot be read, or that Redis would not write."""

    slug = "damaged"

    def __init__(self) -> None:
        super().__init__(
            "Um registro do estado quente está danificado. Envie os mesmos bytes de novo mais tarde.",
            "A record of the hot state is damaged. Send the same bytes again later.",
        )


_WAITS_S = itertools.cycle((1, 2, 3))


class Overloaded(NotServed):
    """More taps are in flight than this process takes on.

    Devices are told different waits in turn: those that are refused together must not come back together.
    """

    slug = "overloaded"

    def __init__(self) -> None:
        self.retry_after_s = next(_WAITS_S)
        super().__init__(
            "O serviço está no limite. Espere o tempo de Retry-After e envie os mesmos bytes de novo.",
            "The service is at its limit. Wait for Retry-After and send the same bytes again.",
        )
