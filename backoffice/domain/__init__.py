"""The back office's own rules: acquisition of passes, rating of a month, claims and cuts; pure functions."""
