"""What the validator touches of the outside: Redis, keys, the clock, the log."""
