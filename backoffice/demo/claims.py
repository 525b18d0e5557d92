"""The month closed, its claims written to files, and compared with the demonstration's own count."""

from rich.progress import Progress

from backoffice.adapters.claim_files import annex_bytes, claim_csv, write_file
from backoffice.application.claim_writing import annex_name, annex_rides
from backoffice.application.close_month import close_month
from backoffice.demo.city_plan import Calendar, CityPlan
from backoffice.demo.compare import Comparison, compare
from backoffice.demo.count import Count
from backoffice.demo.founding import at_hour
from backoffice.demo.month_count import count_month
from backoffice.demo.stage import Stage

__all__ = ["annex_bytes", "annex_name", "annex_rides", "claim_csv", "close_and_compare", "write_file"]


def close_and_compare(
    stage: Stage, city: CityPlan, calendar: Calendar, count: Count, progress: Progress
) -> Comparison:
    """Close the month on the fifth day after its last, as the city does, and compare."""
    at = at_hour(calendar.after(5), 9)
    stage.clock.set(at)
    task = progress.add_task("Fechamento da competência", total=None)
    closed = close_month(
        stage.office.engine,
        stage.office.book,
        calendar.month,
        at=at,
        by="orgao-gestor",
        progress=lambda done, total: progress.update(task, completed=done, total=total),
    )
    comparison = compare(
        [claim.document for claim in closed.claims], count_month(count, city, calendar.month)
    )
    return comparison
