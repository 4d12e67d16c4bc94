"""A ``precompiled_charsmap`` made of rules, as SentencePiece would make it."""

import struct
from collections.abc import Mapping

_CHILDREN = 256


def compiled(rules: Mapping[str, str]) -> bytes:
    """Return the rules as a double array and the texts that its values point into."""
    texts = b""
    children: list[dict[int, int]] = [{}]
    values: dict[int, int] = {}
    for key, text in sorted(rules.items()):
        node = 0
        for byte in key.encode():
            if byte not in children[node]:
                children.append({})
                children[node][byte] = len(children) - 1
            node = children[node][byte]
        values[node] = len(texts)
        texts += text.encode() + b"\0"
    # The children of node n are in the block n + 1, so that no two nodes have one in the same place.
    units = [0] * (_CHILDREN * (len(children) + 1))
    units[0] = _CHILDREN << 10
    for node, below in enumerate(children):
        block = _CHILDREN * (node + 1)
        if node in values:
            units[block] = values[node] | 1 << 31
        for byte, child in below.items():
            place = block ^ byte
            units[place] = (place ^ _CHILDREN * (child + 1)) << 10 | (child in values) << 8 | byte
    trie = struct.pack(f"<{len(units)}I", *units)
    return struct.pack("<I", len(trie)) + trie + texts
