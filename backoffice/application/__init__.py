"""Use cases of the back office: one file per verb."""
