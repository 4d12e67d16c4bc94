-- No run is above itself, and none has more below it than it may, however its row came: imports write rows without the check of
-- `run_write`. What goes in a circle would keep each of its runs from being pruned. A trigger takes no recursion: it looks at as
-- many runs as may be above one, and refuses what has more, so that no circle of any length is closed. A parent that is not
-- there is none: such a run is pruned and listed as any other.
CREATE TRIGGER agent_runs_ancestors BEFORE INSERT ON agent_runs
WHEN new.parent_run_id IS NOT NULL
  -- One that is there stays as it is, and closes nothing.
  AND NOT EXISTS (SELECT 1 FROM agent_runs AS held WHERE held.tenant_id = new.tenant_id AND held.id = new.id)
  AND NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = new.tenant_id AND placed.carried)
BEGIN
  SELECT RAISE(ABORT, 'own_ancestor') WHERE new.parent_run_id = new.id;
  -- As MAX_RUN_CHILDREN (app/domain/limits.py).
  SELECT RAISE(ABORT, 'children_full') WHERE (
    SELECT count(*) FROM (
      SELECT 1 FROM agent_runs AS child
      WHERE child.tenant_id = new.tenant_id AND child.parent_run_id = new.parent_run_id LIMIT 100
    )
  ) >= 100;
  SELECT CASE
    WHEN new.id IN (a.parent_run_id, b.parent_run_id, c.parent_run_id, d.parent_run_id, e.parent_run_id, f.parent_run_id,
      g.parent_run_id, h.parent_run_id) THEN RAISE(ABORT, 'own_ancestor')
    WHEN h.parent_run_id IS NOT NULL THEN RAISE(ABORT, 'too_deep')
  END
  FROM agent_runs AS a
  LEFT JOIN agent_runs AS b ON b.tenant_id = new.tenant_id AND b.id = a.parent_run_id
  LEFT JOIN agent_runs AS c ON c.tenant_id = new.tenant_id AND c.id = b.parent_run_id
  LEFT JOIN agent_runs AS d ON d.tenant_id = new.tenant_id AND d.id = c.parent_run_id
  LEFT JOIN agent_runs AS e ON e.tenant_id = new.tenant_id AND e.id = d.parent_run_id
  LEFT JOIN agent_runs AS f ON f.tenant_id = new.tenant_id AND f.id = e.parent_run_id
  LEFT JOIN agent_runs AS g ON g.tenant_id = new.tenant_id AND g.id = f.parent_run_id
  LEFT JOIN agent_runs AS h ON h.tenant_id = new.tenant_id AND h.id = g.parent_run_id
  WHERE a.tenant_id = new.tenant_id AND a.id = new.parent_run_id;
END;

INSERT INTO schema_compatibility (name, oldest) VALUES ('0050_ancestors_end.sql', '0037_compatibility.sql');
