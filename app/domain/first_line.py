"""The line by which a memory is shown in a list."""

MAX_SUMMARY = 120
"""Characters."""


def first_line(content: str) -> str:
    """Return the first line of a content, cut at a word where it is long."""
    line = next((stripped for part in content[: 10 * MAX_SUMMARY].splitlines() if (stripped := part.strip())), "")
    line = " ".join((line or content.strip()[:MAX_SUMMARY]).split())
    if len(line) <= MAX_SUMMARY:
        return line
    cut = line[: MAX_SUMMARY - 1]
    at_word = cut.rpartition(" ")[0]
    return (at_word if len(at_word) > MAX_SUMMARY // 2 else cut).rstrip() + "\u2026"
