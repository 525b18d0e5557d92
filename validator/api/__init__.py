"""The validator over HTTP."""
