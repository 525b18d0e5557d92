"""Tables whose rows the database itself never changes nor deletes: a correction is a new row that cites the old."""

TABLES = (
    "acts",
    "audit_log",
    "breakdowns",
    "card_issues",
    "card_states",
    "card_uids",
    "cards",
    "claim_entries",
    "claim_lines",
    "claim_states",
    "claims",
    "datings",
    "device_code_uses",
    "device_codes",
    "device_keys",
    "device_revocations",
    "enrolments",
    "fares",
    "holder_end_states",
    "line_operators",
    "lives",
    "month_closings",
    "operator_endings",
    "rated_boardings",
    "repairs",
    "right_decisions",
    "right_endings",
    "right_evidence",
    "right_requests",
    "right_suspensions",
    "rights",
    "sales",
    "school_years",
    "vehicle_operators",
)

_FUNCTION = """CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION USING
		MESSAGE = 'rows of ' || TG_TABLE_NAME || ' are never changed', ERRCODE = 'integrity_constraint_violation';
END $$"""


def triggers(dialect: str) -> list[str]:
    """The triggers as SQL of one database."""
    if dialect == "postgresql":
        return [_FUNCTION, *(_postgresql(table) for table in TABLES)]
    return [_sqlite(table, change) for table in TABLES for change in ("UPDATE", "DELETE")]


def _postgresql(table: str) -> str:
    return (
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table}\n"
        "FOR EACH ROW EXECUTE FUNCTION refuse_change()"
    )


def _sqlite(table: str, change: str) -> str:
    return (
        f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table}\n"
        f"BEGIN SELECT RAISE(ABORT, 'rows of {table} are never changed'); END"
    )
