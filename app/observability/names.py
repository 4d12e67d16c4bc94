"""Bounds the values of labels, and so the number of series."""

OTHER = "other"


class Names:
    """The first names that are seen; every other name becomes ``other``."""

    def __init__(self, most: int) -> None:
        """Take how many names are told apart."""
        self._most = most
        self._seen: set[str] = set()

    def of(self, name: str) -> str:
        """Return the name, or ``other``."""
        if name not in self._seen:
            if len(self._seen) >= self._most:
                return OTHER
            self._seen.add(name)
        return name

    def last_of(self, *names: str) -> str:
        """Return the last of some names, or ``OTHER`` where these names together are not told apart."""
        return OTHER if self.of(" ".join(names)) == OTHER else names[-1]
