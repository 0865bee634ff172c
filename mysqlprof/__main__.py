"""`python -m mysqlprof`."""

from mysqlprof.cli import main

main()
