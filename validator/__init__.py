"""Decides one boarding: whether the rider may pass, what the rider pays and what the city repays."""
