"""Drawings as inline SVG: bars with intervals, and risk against coverage."""

from collections.abc import Sequence
from html import escape

from bench.quality.abstention import Abstention
from bench.quality.scores import Estimate

COLOURS = ("#1f6feb", "#d1642a", "#2a8f5b", "#8a4fbf", "#b8860b", "#c23b6e", "#1b8a9a", "#6b7280")
_LABEL, _BAR, _VALUE, _ROW = 230, 420, 130, 24
_SIDE, _MARGIN, _LEGEND = 360, 46, 260
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_DASHES = ("", "6 3", "2 3")


def bars(rows: Sequence[tuple[str, Estimate]]) -> str:
    """Draw a bar from 0 to 1 for each row, with its interval as a line across the end."""
    width, height = _LABEL + _BAR + _VALUE, _ROW * len(rows) + _ROW
    drawn = [_tick(share, height) for share in _TICKS]
    for number, (label, estimate) in enumerate(rows):
        drawn.append(_bar(number, label, estimate))
    return _svg(width, height, drawn)


def risk_curves(runs: Sequence[tuple[str, Abstention]]) -> str:
    """Draw a line for each run: the share of wrong answers against the share of questions answered."""
    height = max(_SIDE + 2 * _MARGIN, _ROW * len(runs) + _MARGIN)
    drawn = [_grid(share) for share in _TICKS]
    for number, (label, judged) in enumerate(runs):
        stroke, dash = _pen(number)
        points = " ".join(f"{_across(coverage):.1f},{_up(risk):.1f}" for coverage, risk in judged.curve)
        pen = f'fill="none" stroke="{stroke}" stroke-width="2" stroke-dasharray="{dash}"'
        drawn.append(f'<polyline points="{points}" {pen}/>')
        x, y = _SIDE + 2 * _MARGIN, _MARGIN + _ROW * number
        drawn.append(f'<line x1="{x}" y1="{y}" x2="{x + 24}" y2="{y}" {pen}/>')
        drawn.append(f'<text x="{x + 32}" y="{y + 4}">{escape(label)}: {judged.aurc:.3f}</text>')
    drawn.append(f'<text x="{_across(0.5)}" y="{_up(0) + 38}" text-anchor="middle">coverage</text>')
    drawn.append(f'<text x="{_across(0)}" y="{_up(1) - 12}">risk</text>')
    return _svg(_SIDE + 2 * _MARGIN + _LEGEND, height, drawn)


def _bar(number: int, label: str, estimate: Estimate) -> str:
    top, middle = number * _ROW + 4, number * _ROW + _ROW / 2
    low, mean, high = (
        _LABEL + _BAR * min(max(share, 0.0), 1.0) for share in (estimate.low, estimate.mean, estimate.high)
    )
    value = f"{100 * estimate.mean:.1f} ({100 * estimate.low:.1f}-{100 * estimate.high:.1f})"
    return (
        f'<text x="{_LABEL - 8}" y="{middle + 4}" text-anchor="end">{escape(label)}</text>'
        f'<rect x="{_LABEL}" y="{top}" width="{mean - _LABEL:.1f}" height="{_ROW - 8}" fill="{COLOURS[0]}"/>'
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}" stroke="currentColor" stroke-width="2"/>'
        f'<text x="{_LABEL + _BAR + 10}" y="{middle + 4}">{value}</text>'
    )


def _tick(share: float, height: int) -> str:
    x = _LABEL + _BAR * share
    return (
        f'<line x1="{x}" x2="{x}" y1="0" y2="{height - _ROW + 4}" class="grid"/>'
        f'<text x="{x}" y="{height - 4}" text-anchor="middle">{100 * share:.0f}</text>'
    )


def _grid(share: float) -> str:
    return (
        f'<line x1="{_across(share)}" x2="{_across(share)}" y1="{_up(0)}" y2="{_up(1)}" class="grid"/>'
        f'<line x1="{_across(0)}" x2="{_across(1)}" y1="{_up(share)}" y2="{_up(share)}" class="grid"/>'
        f'<text x="{_across(share)}" y="{_up(0) + 18}" text-anchor="middle">{share:.1f}</text>'
        f'<text x="{_across(0) - 6}" y="{_up(share) + 4}" text-anchor="end">{share:.1f}</text>'
    )


def _pen(number: int) -> tuple[str, str]:
    return COLOURS[number % len(COLOURS)], _DASHES[number // len(COLOURS) % len(_DASHES)]


def _across(share: float) -> float:
    return _MARGIN + _SIDE * share


def _up(share: float) -> float:
    return _MARGIN + _SIDE * (1 - share)


def _svg(width: int, height: int, drawn: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img">{"".join(drawn)}</svg>'
