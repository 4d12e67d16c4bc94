-- Whether a command holds the share: some calls are for commands alone, beyond those that all divide
-- (docs/decisions/0040-one-budget-for-all-replicas.md).
ALTER TABLE call_share ADD COLUMN command INTEGER NOT NULL DEFAULT 0 CHECK (command IN (0, 1));
