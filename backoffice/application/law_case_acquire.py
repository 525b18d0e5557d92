"""Golden cases of kind `acquire`: a student's purchases and one request in; the window or a refusal out."""

from backoffice.application.law_case_fields import Fields
from backoffice.domain.acquisition import Plan, Purchase, Sold, acquire, limits_on
from validator.domain.rules import RuleBook


def acquired(case: Fields, book: RuleBook) -> dict[str, object]:
    """What the law answers to a request, under the names of `expect`.

    Raises:
        CaseError: a field breaks the format.
    """
    history = [_purchase(item, least=1) for item in case.items("history")]
    request = _purchase(case.inner("request"), least=-1_000_000_000)
    limits = limits_on(
        book,
        request.on,
        school_days=case.whole("school_days", most=366) if case.has("school_days") else None,
        authorised_extra=case.whole("authorised_extra", default=0),
    )
    answer = acquire(history, request, limits)
    if isinstance(answer, Sold):
        window = answer.window
        days = None if window is None or window.until is None else [str(window.first), str(window.until)]
        return {"outcome": "accepted", "reason": "OK", "window": days, "remaining": answer.remaining}
    return {
        "outcome": "refused",
        "reason": answer.reason.value,
        "remaining": answer.remaining,
        "next_on": None if answer.next_on is None else str(answer.next_on),
    }


def _purchase(fields: Fields, *, least: int) -> Purchase:
    purchase = Purchase(fields.day("on"), fields.choice("plan", Plan), fields.whole("units", least=least))
    fields.done()
    return purchase
