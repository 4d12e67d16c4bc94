"""One page of HTML with everything on it, that loads nothing."""

from collections.abc import Mapping, Sequence
from html import escape

from bench.quality.charts import bars, risk_curves
from bench.quality.document import Rows, tables
from bench.quality.summary import RISK_K, Run

CHARTED = ("recall@10", "hit@5")
"""What is drawn as bars."""
_RISKS = (
    "Questions are answered from the most confident on; an answer is wrong where no evidence is among its first {} "
    "entries. Behind each name is the mean risk over all coverages (AURC)."
)
_STYLE = """
:root { color-scheme: light dark; --line: #8884 }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem } h3 { font-size: 1rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: 13px; white-space: nowrap }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--line) }
svg { max-width: 100%; height: auto; font-size: 12px }
svg text { fill: currentColor } .grid { stroke: var(--line) }
"""


def page(runs: Sequence[Run], circumstances: Mapping[str, object], notes: str) -> str:
    """Return the page: what was measured on, bars, risk against coverage, every table."""
    told = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in circumstances.items()
    )
    sections = [
        "<h1>Retrieval quality</h1>",
        f"<table>{told}</table>",
        "".join(f"<p>{escape(note)}</p>" for note in notes.split("\n\n")),
        *(_bars(runs, metric) for metric in CHARTED),
        _risks(runs),
        *(f"<h2>{escape(title)}</h2>{_table(rows)}" for title, rows in tables(runs)),
    ]
    head = f'<meta charset="utf-8"><title>Retrieval quality</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(sections)}</body></html>\n'


def _bars(runs: Sequence[Run], metric: str) -> str:
    drawn = [f"<h2>{metric}, in percent, with 95 % intervals</h2>"]
    for dataset in dict.fromkeys(name for run in runs for name in run.by_dataset):
        rows = [(run.name, run.by_dataset[dataset].figures[metric]) for run in runs if dataset in run.by_dataset]
        drawn.append(f"<h3>{escape(dataset)}</h3>{bars(rows)}")
    return "".join(drawn)


def _risks(runs: Sequence[Run]) -> str:
    drawn = [
        "<h2>Risk against coverage</h2>",
        f"<p>{_RISKS.format(RISK_K)}</p>",
    ]
    for dataset in dict.fromkeys(name for run in runs for name in run.abstention):
        judged = [(run.name, run.abstention[dataset]) for run in runs if dataset in run.abstention]
        drawn.append(f"<h3>{escape(dataset)}</h3>{risk_curves(judged)}")
    return "".join(drawn)


def _table(rows: Rows) -> str:
    head, *body = rows
    lines = ["".join(f"<th>{escape(cell)}</th>" for cell in head)]
    lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in body]
    return f'<div class="wide"><table>{"".join(f"<tr>{line}</tr>" for line in lines)}</table></div>'
