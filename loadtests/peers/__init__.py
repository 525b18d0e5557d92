"""What a user would build instead, on the same machine in the same run: one PostgreSQL, no hot state."""
