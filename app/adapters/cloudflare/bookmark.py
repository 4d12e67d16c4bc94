"""The newest state of a D1 database that this process has seen, so that a read replica shows it nothing older.

https://developers.cloudflare.com/d1/best-practices/read-replication/
"""

HEADER = "x-d1-bookmark"
FIRST_PRIMARY = "first-primary"
"""The value that is sent while no bookmark is known: the primary answers, and returns a bookmark."""


class Bookmark:
    """The latest bookmark of the answers to this process. Bookmarks sort as text, from oldest to newest.

    ``FIRST_PRIMARY`` is sent until a run that reached the primary has returned a bookmark.
    """

    def __init__(self) -> None:
        """Begin without a bookmark."""
        self._latest = ""
        self._known = False
        self._period = 0

    def to_send(self) -> tuple[str | None, int]:
        """Return the bookmark of a new run, None while there is none, and the period that the other methods take."""
        return (self._latest if self._known else None), self._period

    def record(self, bookmark: str | None, sent: str | None, period: int) -> None:
        """Record an answer's bookmark; ``sent`` and ``period`` are what ``to_send`` returned for its run."""
        if not bookmark:
            return
        self._latest = max(self._latest, bookmark)
        if sent is None and period == self._period:
            self._known = True

    def forget(self, period: int) -> None:
        """Send no bookmark until the primary has returned one: a run that sent one failed, perhaps because of it.

        The bookmarks of other runs are recorded meanwhile; a run that began before does not make the bookmark known.
        """
        if period == self._period:
            self._period += 1
            self._latest, self._known = "", False
