"""``python -m bench.quality.mixed > mixed.jsonl`` writes the data set; ``--check`` says what is wrong with it."""

import argparse
import sys

from bench.quality.mixed.assemble import as_line, generate
from bench.quality.mixed.check import counts, problems


def main() -> int:
    """Write the data set, or check it: then it ends with 1 where a rule is broken."""
    parser = argparse.ArgumentParser(prog="mixed", description="A made-up year on one person's phone.")
    parser.add_argument("--check", action="store_true", help="print the counts and what is wrong, not the data")
    conversation = generate()
    if not parser.parse_args().check:
        sys.stdout.buffer.write(as_line(conversation).encode())
        return 0
    found = problems(conversation)
    print("\n".join([*counts(conversation), *found]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
