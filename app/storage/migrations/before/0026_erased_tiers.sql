-- What an erasure has erased of the tiers, by kind: a JSON object of counts.
ALTER TABLE erasure ADD COLUMN tiers TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(tiers));
