-- A call of a tool is refused where its agent is given other tools (agent.tools). What it writes is refused in the run
-- itself, whose first statement puts a row in here (app/storage/tool_calls.py).

CREATE VIEW tool_call AS
SELECT NULL AS tenant_id, NULL AS agent_id,
  -- The set that the tool is in.
  NULL AS tools;

CREATE TRIGGER tool_call_checked INSTEAD OF INSERT ON tool_call
BEGIN
  SELECT RAISE(ABORT, 'not_given')
  WHERE new.tools <> coalesce(
    (SELECT agent.tools FROM agent WHERE agent.tenant_id = new.tenant_id AND agent.agent_id = new.agent_id),
    'recall_store'
  );
END;
