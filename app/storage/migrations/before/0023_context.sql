-- Shared context: documents of a tenant that administrators write and all of its agents read, and the tenant's
-- configuration, which is the document of a name that no document can have (docs/tiers.md). A row is a version: it is
-- never changed, the highest one of a name is the document.
CREATE TABLE context_versions (
  tenant_id TEXT NOT NULL,
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
  version INTEGER NOT NULL CHECK (version >= 1),
  size INTEGER NOT NULL CHECK (size = length(CAST(content AS BLOB)) AND size <= 100000),
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  media_type TEXT NOT NULL CHECK (length(media_type) <= 128),
  updated_at INTEGER NOT NULL,
  -- By which a write that is made again finds what it has written.
  write_id TEXT NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (tenant_id, name, version)
) STRICT;
CREATE INDEX context_versions_sizes ON context_versions (tenant_id, name, version, size);

-- The highest version of what a tenant has deleted: no version of a name comes back.
CREATE TABLE context_floor (
  tenant_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (tenant_id)
) STRICT, WITHOUT ROWID;

-- What must hold before a version is written, in the run that writes it. The trigger lets it pass, or stops it.
CREATE VIEW context_write AS
SELECT
  NULL AS tenant_id, NULL AS name, NULL AS write_id, NULL AS size, NULL AS sha256, NULL AS media_type,
  -- A JSON array of versions as texts, of which the document has to have one; '*' is any. NULL: nothing is asked.
  NULL AS if_match,
  -- Whether there must be no document.
  NULL AS if_none_match,
  -- How many versions of a name are kept, how many documents and bytes the tenant may have, and the name that counts
  -- for none of it.
  NULL AS kept, NULL AS most_documents, NULL AS most_bytes, NULL AS uncounted;

CREATE TRIGGER context_write_checked INSTEAD OF INSERT ON context_write
BEGIN
  SELECT CASE
    WHEN EXISTS (
      SELECT 1 FROM context_versions AS held
      WHERE held.tenant_id = new.tenant_id AND held.name = new.name AND held.write_id = new.write_id
    ) THEN NULL
    WHEN new.if_none_match AND EXISTS (
      SELECT 1 FROM context_versions AS held WHERE held.tenant_id = new.tenant_id AND held.name = new.name
    ) THEN RAISE(ABORT, 'precondition')
    WHEN new.if_match IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM json_each(new.if_match) AS asked
      WHERE asked.value = coalesce((
        SELECT iif(asked.value = '*', '*', CAST(max(held.version) AS TEXT)) FROM context_versions AS held
        WHERE held.tenant_id = new.tenant_id AND held.name = new.name HAVING count(*) > 0
      ), '')
    ) THEN RAISE(ABORT, 'precondition')
    WHEN new.name = new.uncounted OR EXISTS (
      SELECT 1 FROM (
        SELECT last.sha256, last.media_type FROM context_versions AS last
        WHERE last.tenant_id = new.tenant_id AND last.name = new.name ORDER BY last.version DESC LIMIT 1
      ) AS now WHERE now.sha256 = new.sha256 AND now.media_type = new.media_type
    ) THEN NULL
    WHEN NOT EXISTS (
      SELECT 1 FROM context_versions AS held WHERE held.tenant_id = new.tenant_id AND held.name = new.name
    ) AND (
      SELECT count(DISTINCT held.name) FROM context_versions AS held
      WHERE held.tenant_id = new.tenant_id AND held.name <> new.uncounted
    ) >= new.most_documents THEN RAISE(ABORT, 'documents_full')
    -- Without the versions that go when this one comes.
    WHEN new.size + (
      SELECT coalesce(sum(held.size), 0) FROM context_versions AS held
      WHERE held.tenant_id = new.tenant_id AND held.name <> new.uncounted
        AND NOT (held.name = new.name AND held.version <= (
          SELECT max(last.version) + 1 - new.kept FROM context_versions AS last
          WHERE last.tenant_id = new.tenant_id AND last.name = new.name
        ))
    ) > new.most_bytes THEN RAISE(ABORT, 'bytes_full')
  END;
END;
