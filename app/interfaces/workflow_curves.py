"""A picture of the posteriors of the workflows of one task: a row for each, with its curve, mean and interval.

The picture is plain SVG without scripts, links or fonts of its own, and follows the viewer's light or dark scheme.
"""

from collections.abc import Sequence
from html import escape

from app.domain import posterior
from app.domain.workflows import ListedWorkflow

MEDIA_TYPE = "image/svg+xml"
HEADERS = {
    # Opened as a page of its own, the picture can load nothing and run nothing.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
MAX_CURVES = 20

_WIDTH, _LEFT, _PLOT = 940, 230, 400
_MEAN, _INTERVAL, _SEEN = 690, 824, 924
"""The x positions at which the columns of numbers end."""
_TOP, _ROW, _CURVE = 92, 40, 30
_BOTTOM = 44
_POINTS = 81
_SHOWN = 24
_STYLE = """
svg { font-family: ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
.page { fill: #ffffff; }
.text { fill: #1f2328; font-size: 13px; }
.head { fill: #1f2328; font-size: 16px; font-weight: 600; }
.note { fill: #59636e; font-size: 11px; }
.end { text-anchor: end; }
.middle { text-anchor: middle; }
.grid { stroke: #d1d9e0; stroke-width: 1; }
.axis { stroke: #59636e; stroke-width: 1; }
.curve { fill: none; stroke: #0969da; stroke-width: 1.5; stroke-linejoin: round; }
.within { fill: #0969da; fill-opacity: 0.22; stroke: none; }
.mean { stroke: #0969da; stroke-width: 2; }
.off .curve, .off .mean { stroke: #6e7781; }
.off .curve { stroke-dasharray: 4 3; }
.off .within { fill: #6e7781; }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117; }
  .text, .head { fill: #f0f6fc; }
  .note { fill: #9198a1; }
  .grid { stroke: #3d444d; }
  .axis { stroke: #9198a1; }
  .curve, .mean { stroke: #58a6ff; }
  .within { fill: #58a6ff; fill-opacity: 0.28; }
  .off .curve, .off .mean { stroke: #9198a1; }
  .off .within { fill: #9198a1; }
}
"""


def render(agent_type: str, task_type: str, workflows: Sequence[ListedWorkflow]) -> str:
    """Draw the workflows with the best means, at most ``MAX_CURVES``, the best first."""
    best = sorted(workflows, key=lambda each: (-each.mean, each.workflow_id))[:MAX_CURVES]
    bottom = _TOP + _ROW * max(len(best), 1)
    parts = [
        *_frame(f"{task_type} by {agent_type}", _count(len(best), len(workflows)), bottom),
        *_legend(),
        *_axis(bottom),
        *[part for row, workflow in enumerate(best) for part in _row(workflow, _TOP + _ROW * (row + 1))],
        *([] if best else [_text(_x(0.5), bottom - 14, "There is no workflow for this task yet.", "note middle")]),
        "</svg>",
    ]
    return "\n".join(parts)


def _count(shown: int, there: int) -> str:
    if shown < there:
        return f"The {shown} of {there} workflows with the best means."
    return f"{there} workflow{'' if there == 1 else 's'}, the best mean first."


def _frame(title: str, note: str, bottom: int) -> list[str]:
    height = bottom + _BOTTOM
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title note">',
        f'<title id="title">{escape(title)}: posteriors of the rate of success</title>',
        f'<desc id="note">{escape(note)}</desc>',
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{_WIDTH}" height="{height}"/>',
        _text(16, 28, _shortened(title, 90), "head"),
        _text(16, 47, note, "note"),
    ]


def _legend() -> list[str]:
    """Say what the marks mean, and head the columns."""
    y = 74
    return [
        f'<path class="curve" d="M{_LEFT} {y} q9 0 14 -10 q4 -8 8 0 q5 10 14 10"/>',
        _text(_LEFT + 42, y, "density, each to its own peak", "note"),
        f'<rect class="within" x="{_LEFT + 216}" y="{y - 10}" width="24" height="11"/>',
        _text(_LEFT + 245, y, "95 % interval", "note"),
        _line("mean", _LEFT + 334, y - 11, _LEFT + 334, y + 1),
        _text(_LEFT + 342, y, "mean", "note"),
        f'<g class="off"><path class="curve" d="M{_LEFT + 390} {y - 4} h24"/></g>',
        _text(_LEFT + 419, y, "disabled", "note"),
        _text(_MEAN, _TOP - 2, "mean", "note end"),
        _text(_INTERVAL, _TOP - 2, "95 % interval", "note end"),
        _text(_SEEN, _TOP - 2, "outcomes", "note end"),
    ]


def _axis(bottom: int) -> list[str]:
    parts = []
    for tenths in range(0, 11, 2):
        x = _x(tenths / 10)
        parts += [_line("grid", x, _TOP, x, bottom), _text(x, bottom + 16, f"{tenths / 10:.1f}", "note middle")]
    parts.append(_line("axis", _LEFT, bottom, _LEFT + _PLOT, bottom))
    parts.append(_text(_x(0.5), bottom + 34, "rate of success", "note middle"))
    return parts


def _row(workflow: ListedWorkflow, base: int) -> list[str]:
    low, high = workflow.interval
    rates, heights = posterior.curve(workflow.alpha, workflow.beta, _POINTS)
    points = [(_x(rate), base - _CURVE * height) for rate, height in zip(rates, heights, strict=True)]
    inside = [point for point in points if _x(low) <= point[0] <= _x(high)]
    mean, seen = workflow.mean, workflow.alpha + workflow.beta - 2
    return [
        "<g>" if workflow.enabled else '<g class="off">',
        f"<title>{escape(_told(workflow))}</title>",
        _line("grid", _LEFT, base, _LEFT + _PLOT, base),
        *([f'<path class="within" d="{_area(inside, base)}"/>'] if len(inside) > 1 else []),
        f'<path class="curve" d="{_path([(_LEFT, base), *points, (_LEFT + _PLOT, base)])}"/>',
        _line("mean", _x(mean), base - _CURVE - 2, _x(mean), base + 2),
        _text(_LEFT - 12, base - 8, _shortened(workflow.workflow_id, _SHOWN), "text end"),
        _text(_MEAN, base - 8, f"{mean:.3f}", "text end"),
        _text(_INTERVAL, base - 8, f"{low:.3f} to {high:.3f}", "text end"),
        _text(_SEEN, base - 8, f"{seen:,.0f}", "text end"),
        "</g>",
    ]


def _told(workflow: ListedWorkflow) -> str:
    low, high = workflow.interval
    state = "" if workflow.enabled else ", disabled"
    return (
        f"{workflow.workflow_id}{state}: mean {workflow.mean:.3f}, 95 % from {low:.3f} to {high:.3f}, "
        f"alpha {workflow.alpha:g}, beta {workflow.beta:g}, discount {workflow.discount:g}"
    )


def _x(rate: float) -> float:
    return _LEFT + _PLOT * float(rate)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + " ".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _area(points: Sequence[tuple[float, float]], base: int) -> str:
    return f"{_path([(points[0][0], base), *points, (points[-1][0], base)])}Z"


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(text)}</text>'


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
