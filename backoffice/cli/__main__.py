"""`python -m backoffice.cli` is the `catraca` command."""

from backoffice.cli import main

main()
