"""Runs the hooks: python3 -I -S memory_hook.py (README.md)."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from memory_gateway_hook.main import main

if __name__ == "__main__":
    main()
