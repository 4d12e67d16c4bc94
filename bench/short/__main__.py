"""Counts what requests do, beside the figures that a change is held to; ``--write`` makes the counts the figures.

Takes a few seconds, on a machine that may be busy. Exits with 1 where a count is more than 5 % off, of statements 2 %.
"""

import sys
from argparse import ArgumentParser

from bench.short import figures
from bench.short.measuring import apart, count


def main() -> None:
    """Count, print and compare."""
    parser = ArgumentParser(prog="python -m bench.short", description=__doc__)
    parser.add_argument("--write", action="store_true", help="make what is counted the figures")
    writing = parser.parse_args().write
    with apart() as process:
        counted = process.submit(count).result()
    held, version = figures.read()
    print(figures.table(counted, held))
    if writing:
        figures.write(counted)
        return
    found = list(figures.problems(counted, held, version))
    print(*found, sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
