"""Every operation of the service, as a method of both clients.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from memory_gateway_client.methods import Method, Streamed
from memory_gateway_client.operations import (
    agent_memory as _agent_memory,
)
from memory_gateway_client.operations import (
    archive as _archive,
)
from memory_gateway_client.operations import (
    audit as _audit,
)
from memory_gateway_client.operations import (
    blobs as _blobs,
)
from memory_gateway_client.operations import (
    context as _context,
)
from memory_gateway_client.operations import (
    data as _data,
)
from memory_gateway_client.operations import (
    episodes as _episodes,
)
from memory_gateway_client.operations import (
    facts as _facts,
)
from memory_gateway_client.operations import (
    memory as _memory,
)
from memory_gateway_client.operations import (
    operations as _operations,
)
from memory_gateway_client.operations import (
    profiles as _profiles,
)
from memory_gateway_client.operations import (
    shared_context as _shared_context,
)
from memory_gateway_client.operations import (
    tools as _tools,
)
from memory_gateway_client.operations import (
    transfer as _transfer,
)
from memory_gateway_client.operations import (
    workflows as _workflows,
)
from memory_gateway_client.operations import (
    working_memory as _working_memory,
)


class Operations:
    """The operations, by their names."""

    store = Method(_memory.store)
    change_memory = Method(_memory.change_memory)
    delete_memory = Method(_memory.delete_memory)
    delete_memories = Method(_memory.delete_memories)
    recall = Method(_memory.recall)
    explain = Method(_memory.explain)
    erase_agent = Method(_memory.erase_agent)
    erase_tenant = Method(_memory.erase_tenant)
    operation = Method(_memory.operation)
    get_memory = Method(_data.get_memory)
    get_agent = Method(_data.get_agent)
    set_agent = Method(_data.set_agent)
    credentials = Method(_data.credentials)
    mint_credential = Method(_data.mint_credential)
    revoke_credential = Method(_data.revoke_credential)
    undo = Method(_data.undo)
    undo_learned = Method(_data.undo_learned)
    list_memories = Method(_data.list_memories)
    usage = Method(_data.usage)
    list_agents = Method(_data.list_agents)
    consolidations = Method(_data.consolidations)
    consolidation_dry_run = Method(_data.consolidation_dry_run)
    undo_consolidation = Method(_data.undo_consolidation)
    remember = Method(_profiles.remember)
    recall_profile = Method(_profiles.recall_profile)
    list_profile = Method(_profiles.list_profile)
    get_profile_memory = Method(_profiles.get_profile_memory)
    forget = Method(_profiles.forget)
    unforget = Method(_profiles.unforget)
    summary = Method(_profiles.summary)
    delete_session = Method(_profiles.delete_session)
    ingest = Method(_profiles.ingest)
    ingestion = Method(_profiles.ingestion)
    retry = Method(_profiles.retry)
    healthz = Method(_operations.healthz)
    readyz = Method(_operations.readyz)
    metrics = Method(_operations.metrics)
    export_memories = Streamed(_transfer.export_memories)
    import_memories = Streamed(_transfer.import_memories)
    agent_memory_namespace_create = Method(_agent_memory.agent_memory_namespace_create)
    agent_memory_namespace_list = Method(_agent_memory.agent_memory_namespace_list)
    agent_memory_namespace_get = Method(_agent_memory.agent_memory_namespace_get)
    agent_memory_namespace_delete = Method(_agent_memory.agent_memory_namespace_delete)
    agent_memory_profile_delete = Method(_agent_memory.agent_memory_profile_delete)
    agent_memory_session_delete = Method(_agent_memory.agent_memory_session_delete)
    agent_memory_ingest = Method(_agent_memory.agent_memory_ingest)
    agent_memory_remember = Method(_agent_memory.agent_memory_remember)
    agent_memory_recall = Method(_agent_memory.agent_memory_recall)
    agent_memory_memory_list = Method(_agent_memory.agent_memory_memory_list)
    agent_memory_memory_get = Method(_agent_memory.agent_memory_memory_get)
    agent_memory_memory_delete = Method(_agent_memory.agent_memory_memory_delete)
    agent_memory_summary = Method(_agent_memory.agent_memory_summary)
    list_tools = Method(_tools.list_tools)
    set_working = Method(_working_memory.set_working)
    get_working = Method(_working_memory.get_working)
    delete_working = Method(_working_memory.delete_working)
    list_working = Method(_working_memory.list_working)
    set_turn_state = Method(_working_memory.set_turn_state)
    get_turn_state = Method(_working_memory.get_turn_state)
    append_run_log = Method(_working_memory.append_run_log)
    run_log = Method(_working_memory.run_log)
    append_messages = Method(_working_memory.append_messages)
    window = Method(_working_memory.window)
    start_run = Method(_episodes.start_run)
    runs = Method(_episodes.runs)
    get_run = Method(_episodes.get_run)
    append_episode = Method(_episodes.append_episode)
    complete_run = Method(_episodes.complete_run)
    fail_run = Method(_episodes.fail_run)
    episodes = Method(_episodes.episodes)
    put_workflow = Method(_workflows.put_workflow)
    get_workflow = Method(_workflows.get_workflow)
    delete_workflow = Method(_workflows.delete_workflow)
    workflow_versions = Method(_workflows.workflow_versions)
    workflow_version = Method(_workflows.workflow_version)
    restore_workflow = Method(_workflows.restore_workflow)
    workflows = Method(_workflows.workflows)
    workflows_picture = Method(_workflows.workflows_picture)
    select_workflow = Method(_workflows.select_workflow)
    record_outcome = Method(_workflows.record_outcome)
    list_context = Method(_shared_context.list_context)
    context_versions = Method(_shared_context.context_versions)
    get_context = Method(_shared_context.get_context)
    put_context = Method(_shared_context.put_context)
    delete_context = Method(_shared_context.delete_context)
    get_configuration = Method(_shared_context.get_configuration)
    put_configuration = Method(_shared_context.put_configuration)
    assemble_context = Method(_context.assemble_context)
    audit_run = Method(_audit.audit_run)
    replay_run = Method(_audit.replay_run)
    audit = Method(_audit.audit)
    acts = Method(_audit.acts)
    export_acts = Streamed(_audit.export_acts)
    put_blob = Method(_blobs.put_blob)
    list_blobs = Method(_blobs.list_blobs)
    get_blob = Method(_blobs.get_blob)
    delete_blob = Method(_blobs.delete_blob)
    learn = Method(_facts.learn)
    facts = Method(_facts.facts)
    recall_facts = Method(_facts.recall_facts)
    list_archive = Method(_archive.list_archive)
    get_archived = Method(_archive.get_archived)
    restore_archived = Method(_archive.restore_archived)
    ask = recall_profile
