"""The month closed, its claims written to files, and the files compared with the demonstration's own count."""

from rich.progress import Progress

from backoffice.application.close_month import close_month
from backoffice.application.export_claim import export_claims
from backoffice.application.staff import CityOffice, as_claim_reader
from backoffice.demo.city_plan import Calendar, CityPlan
from backoffice.demo.compare import Comparison, compare
from backoffice.demo.count import Count
from backoffice.demo.founding import at_hour
from backoffice.demo.month_count import count_month
from backoffice.demo.stage import Stage


def close_and_compare(
    stage: Stage, by: CityOffice, city: CityPlan, calendar: Calendar, count: Count, progress: Progress
) -> Comparison:
    """Close the month on the fifth day after its last, as a city does, write the claims, and compare."""
    engine, month = stage.office.engine, calendar.month
    at = at_hour(calendar.after(5), 9)
    stage.clock.set(at)
    task = progress.add_task("Apuração e fechamento", total=None)
    close_month(
        engine,
        stage.office.book,
        month,
        at=at,
        by=by,
        progress=lambda done, total: progress.update(task, completed=done, total=total),
    )
    progress.update(task, total=progress.tasks[task].completed)
    files = export_claims(engine, as_claim_reader(by), month, stage.folder / "claims")
    comparison = compare([one.json.read_text("utf-8") for one in files], count_month(count, city, month))
    comparison.files = [path.name for one in files for path in (one.csv, one.json, one.annex)]
    return comparison
