"""Writes the types and the operations of the client, of the document that it is given: ``make client``."""

import json
import sys
from pathlib import Path

from client_generator import write

if __name__ == "__main__":
    write(json.load(sys.stdin), Path(__file__).parents[1] / "memory_gateway_client")
