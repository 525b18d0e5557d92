"""The auditor: knows what truly happened, works everything out again, and says where the product differs.

It imports nothing of the product; `test_auditor.py` checks that.
"""

from tests.simulation.auditor_claims import claims_agree
from tests.simulation.auditor_hot import Hot
from tests.simulation.auditor_journal import Entries, durable_is_final, one_row_each, rows_as_sent
from tests.simulation.auditor_law import Law
from tests.simulation.auditor_month import Months
from tests.simulation.facts import Facts, Observed


def audit(facts: Facts, observed: Observed) -> list[str]:
    """Every difference between what happened and what the product holds, in a sentence each; none is good."""
    entries, law = Entries(facts), Law(facts)
    findings = list(observed.early_faults)
    findings += one_row_each(facts, observed, entries)
    findings += durable_is_final(facts, observed)
    findings += [f"{key} has no time to live" for key in observed.immortal]
    findings += rows_as_sent(facts, observed, entries)
    findings += Hot(facts, observed, entries, law).findings()
    findings += claims_agree(observed, Months(facts, observed, entries, law).rate())
    return findings
