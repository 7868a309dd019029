"""`python -m palmette` is the command `palmette`."""

from palmette.cli import main

main()
