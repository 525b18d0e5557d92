"""A school acts for its own pupils only: a number that it guesses opens no record, and changes none."""

from typing import Any

import pytest

from tests.backoffice.register_city import CPF
from tests.backoffice.register_http import Api

PERSON = {"name": "Aluno Trocado", "birth_date": "1950-01-01", "guardian_name": "Mãe", "guardian_cpf": CPF}


def acts_on(api: Api, holder: int) -> list[tuple[str, str, dict[str, Any]]]:
    school, day = api.city.public_school, "2026-03-02"
    enrolment = {
        "school_id": school,
        "first_day": "2026-02-01",
        "last_day": "2026-12-20",
        "passes_per_day": 2,
    }
    right = {"category": "STUDENT_50", "first_day": day, "seen_on": day, "school_id": school}
    evidence = ["IDENTITY", "ADDRESS", "ENROLMENT", "NEED"]
    return [
        ("PUT", f"/holders/{holder}/person", PERSON),
        ("POST", f"/holders/{holder}/right-requests", right | {"evidence": evidence}),
        ("POST", f"/holders/{holder}/enrolments", enrolment),
        ("POST", f"/holders/{holder}/death", {"died_on": day}),
    ]


@pytest.mark.parametrize("act", range(4), ids=["person", "right", "enrolment", "death"])
def test_a_stranger_is_neither_changed_nor_enrolled_nor_declared_dead(lite: Api, act: int):
    """Else a school would make any record its own pupil's by enrolling it, and read name, CPF and address."""
    stranger = lite.city.holder("Idosa de Ninguém")
    method, path, body = acts_on(lite, stranger)[act]

    lite("school", method, path, body, 403)

    lite("school", "GET", f"/holders/{stranger}", code=403)
    sheet = lite("clerk", "GET", f"/holders/{stranger}", code=200)
    assert (sheet["name"], sheet["died_on"], sheet["rights"]) == ("Idosa de Ninguém", None, [])


def test_whom_a_school_registers_is_its_own(lite: Api):
    pupil = lite("school", "POST", "/holders", PERSON | {"birth_date": "2012-05-04"}, 201)["id"]

    for method, path, body in acts_on(lite, pupil):
        lite("school", method, path, body)

    sheet = lite("school", "GET", f"/holders/{pupil}", code=200)
    assert (sheet["name"], sheet["birth_date"], sheet["died_on"]) == (
        "Aluno Trocado",
        "1950-01-01",
        "2026-03-02",
    )
