"""Proves the month to the city: holders, cards, pass sales, and one claim per operator."""
