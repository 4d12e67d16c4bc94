"""A plot of lines over two logarithmic axes, as an SVG file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

COLOURS = ("#1f6feb", "#d1642a", "#2a8f5b", "#8a4fbf", "#b8860b", "#c23b6e")
_WIDTH, _HEIGHT, _MARGIN, _LEGEND = 520, 360, 60, 260
_STYLE = "text{font:12px sans-serif;fill:#444}.grid{stroke:#ddd}"


@dataclass(frozen=True, slots=True)
class Line:
    """A named line through points whose coordinates are above 0; a dashed one where it is told so."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    dashed: bool = False


def plot(lines: Sequence[Line], *, across: str, up: str) -> str:
    """Draw the lines in one frame, with a tick at each power of ten."""
    xs, ys = zip(*(point for line in lines for point in line.points), strict=True)
    horizontal, vertical = _Axis.of(xs, _WIDTH), _Axis.of(ys, _HEIGHT)
    drawn = [*_grid(horizontal, vertical)]
    for number, line in enumerate(lines):
        drawn += _line(number, line, horizontal, vertical)
    drawn.append(f'<text x="{_MARGIN + _WIDTH / 2}" y="{_HEIGHT + _MARGIN + 36}" text-anchor="middle">{across}</text>')
    drawn.append(f'<text x="{_MARGIN}" y="{_MARGIN - 16}" text-anchor="middle">{up}</text>')
    width, height = _WIDTH + 2 * _MARGIN + _LEGEND, _HEIGHT + 2 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="white"/>{"".join(drawn)}</svg>\n'
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    """Powers of ten from ``low`` to ``high``, over so many pixels."""

    low: int
    high: int
    pixels: int

    @classmethod
    def of(cls, values: Sequence[float], pixels: int) -> "_Axis":
        low = floor(log10(min(values)))
        return cls(low, max(low + 1, ceil(log10(max(values)))), pixels)

    @property
    def powers(self) -> range:
        return range(self.low, self.high + 1)

    def at(self, value: float) -> float:
        return self.pixels * (log10(value) - self.low) / (self.high - self.low)


def _grid(horizontal: _Axis, vertical: _Axis) -> Iterator[str]:
    right, bottom = _MARGIN + _WIDTH, _MARGIN + _HEIGHT
    for power in horizontal.powers:
        x = _MARGIN + horizontal.at(10.0**power)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_MARGIN}" y2="{bottom}" class="grid"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{10.0**power:g}</text>'
    for power in vertical.powers:
        y = bottom - vertical.at(10.0**power)
        yield f'<line x1="{_MARGIN}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
        yield f'<text x="{_MARGIN - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'


def _line(number: int, line: Line, horizontal: _Axis, vertical: _Axis) -> Iterator[str]:
    places = [(_MARGIN + horizontal.at(x), _MARGIN + _HEIGHT - vertical.at(y)) for x, y in line.points]
    dashes = ' stroke-dasharray="5 4"' if line.dashed else ""
    pen = f'fill="none" stroke="{line.colour}" stroke-width="2"{dashes}'
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{points}" {pen}/>'
    x, y = _WIDTH + _MARGIN + 20, _MARGIN + 20 * number
    yield f'<line x1="{x}" y1="{y}" x2="{x + 24}" y2="{y}" {pen}/>'
    yield f'<text x="{x + 32}" y="{y + 4}">{escape(line.name)}</text>'
