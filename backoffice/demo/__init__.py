"""The demonstration: an invented city, a month of boardings through the real HTTP API, and the month's claims.

It is a user of the assembled product: the processes are the product's, and so is the agent that drives each bus while
it has no network. Nothing else here decides a boarding: the law is asked through the API, and the numbers of the claim
are compared with a count that the demonstration keeps by itself (`count`).
"""
