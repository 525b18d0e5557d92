"""The database, which is the truth: tables, sessions and migrations; SQLite and PostgreSQL from the same code."""
