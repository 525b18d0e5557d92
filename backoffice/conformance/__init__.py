"""A vendor's device in small, which drives a running validator service clause by clause.

It speaks docs/device-protocol.md from the page alone: standard library, cryptography and httpx2, and nothing of
`validator` or of the rest of `backoffice`. So it proves that the page is enough for a second implementation, and a
fault that product and product's own device share cannot hide here. `tests/conformance` checks that it stays so.
"""
