"""The back office's HTTP API."""
