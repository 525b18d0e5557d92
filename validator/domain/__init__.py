"""The law of the city as pure functions: standard library only, no clock, no input or output, no chance."""
