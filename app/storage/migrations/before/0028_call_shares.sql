-- Which share of Cloudflare's rate limit each process holds (docs/decisions/0040-one-budget-for-all-replicas.md). The shares of
-- those that live, with what those that are gone have spent in the last window, are never more than the whole.
CREATE TABLE call_share (
  replica TEXT NOT NULL PRIMARY KEY CHECK (length(replica) BETWEEN 1 AND 300),
  -- Calls that it may have made in any window.
  calls INTEGER NOT NULL CHECK (calls >= 0),
  -- Whether it has refused calls of late, for want of a larger share.
  hungry INTEGER NOT NULL CHECK (hungry IN (0, 1)),
  -- What it has spent, as [[moment in ms, calls], ...], and the sum of it.
  spent TEXT NOT NULL CHECK (json_valid(spent)),
  used INTEGER NOT NULL CHECK (used >= 0),
  -- When the share goes back to the others, unless it is renewed.
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
