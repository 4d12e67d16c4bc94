"""The services of one request, by their names; each is bound to the tenant of the request."""

from dataclasses import dataclass, replace

from app.domain import limits
from app.domain.memory import Scope
from app.services.access.acts import Acts
from app.services.archive.reading import Archives
from app.services.assembly.assembler import Assembler
from app.services.blobs.blobs import Blobs
from app.services.credentials.registry import CredentialRegistry
from app.services.ingest.ingester import Ingester
from app.services.memories.browse import Browser
from app.services.memories.changing import Changes
from app.services.memories.consolidation import Consolidations
from app.services.memories.filtered_deletion import FilteredDeletions
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.lookup import Lookup
from app.services.memories.undo import Undo
from app.services.memories.undo_taught import UndoTaught
from app.services.profiles.agent_memory import AgentMemory
from app.services.profiles.correcting import Corrections
from app.services.profiles.namespaces import Namespaces
from app.services.profiles.profile import ProfileService
from app.services.tenant.backends import TenantBackends
from app.services.tenant.sign_ins import SignIns
from app.services.tiers.audit import Auditor
from app.services.tiers.context import SharedContext
from app.services.tiers.episodic import EpisodicMemory
from app.services.tiers.facts import SemanticMemory
from app.services.tiers.procedural import ProceduralMemory
from app.services.tiers.windows import WindowService
from app.services.tiers.working import WorkingMemory
from app.storage.agents import ToolSet
from app.storage.tool_calls import ToolCallDatabase


@dataclass(frozen=True, slots=True)
class TenantServices:
    """The services of one request, bound to its tenant."""

    backends: TenantBackends

    @property
    def gateway(self) -> LongTermMemoryGateway:
        """Return the service that stores, recalls, deletes and erases."""
        return LongTermMemoryGateway(self.backends)

    @property
    def browser(self) -> Browser:
        """Return the service that lists memories, reads usage and changes agents' settings."""
        return Browser(self.backends)

    @property
    def lookup(self) -> Lookup:
        """Return the service that looks up memories which a recall may not return."""
        return Lookup(self.backends)

    @property
    def corrections(self) -> Corrections:
        """Return the service that stores what holds now in place of a memory."""
        return Corrections(self.backends)

    @property
    def changes(self) -> Changes:
        """Return the service that changes what is said beside a memory's content."""
        return Changes(self.backends)

    @property
    def filtered_deletions(self) -> FilteredDeletions:
        """Return the service that deletes the memories of an agent that pass a filter."""
        return FilteredDeletions(self.backends)

    @property
    def profiles(self) -> ProfileService:
        """Return the service that remembers, recalls, lists and forgets for a profile: the profile API's agent."""
        return ProfileService(self.backends)

    @property
    def workflows(self) -> ProceduralMemory:
        """Return the service that keeps workflows, selects among them and counts their outcomes."""
        return ProceduralMemory(self.backends)

    @property
    def namespaces(self) -> Namespaces:
        """Return the service that keeps the names of agents in Cloudflare's Agent Memory."""
        return Namespaces(self.backends)

    @property
    def ingester(self) -> Ingester:
        """Return the service that makes memories of conversations."""
        return Ingester(self.backends)

    @property
    def agent_memory(self) -> AgentMemory:
        """Return the service of profiles, by the names of Cloudflare's Agent Memory."""
        return AgentMemory(self.backends)

    @property
    def credentials(self) -> CredentialRegistry:
        """Return the service that lists, mints and revokes credentials."""
        return CredentialRegistry(self.backends)

    @property
    def undo(self) -> Undo:
        """Return the service that takes back the writes of a credential."""
        return Undo(self.backends)

    @property
    def undo_taught(self) -> UndoTaught:
        """Return the service that takes back the memories of a run, a session or a credential."""
        return UndoTaught(self.backends)

    @property
    def consolidations(self) -> Consolidations:
        """Return the service that lists consolidations and their merges, and undoes them."""
        return Consolidations(self.backends)

    @property
    def episodic(self) -> EpisodicMemory:
        """Return the service of runs and of their episodes."""
        return EpisodicMemory(self.backends)

    @property
    def semantic(self) -> SemanticMemory:
        """Return the service of facts."""
        return SemanticMemory(self.backends)

    @property
    def working(self) -> WorkingMemory:
        """Return the service that keeps the scratch state of agents' instances and runs."""
        return WorkingMemory(self.backends)

    @property
    def windows(self) -> WindowService:
        """Return the service that keeps the newest messages of agents' instances."""
        return WindowService(self.backends)

    @property
    def blobs(self) -> Blobs:
        """Return the service that keeps, reads, lists and deletes blobs."""
        return Blobs(self.backends)

    @property
    def archives(self) -> Archives:
        """Return the service that lists, reads and restores archived rows."""
        return Archives(self.backends)

    @property
    def acts(self) -> Acts:
        """Return the service that lists the tenant's administrative acts."""
        return Acts(self.backends.tenant_id, self.backends.data.database.run)

    @property
    def auditor(self) -> Auditor:
        """Return the service that keeps the trails of runs, and reads the audit."""
        return Auditor(self.backends)

    @property
    def context(self) -> SharedContext:
        """Return the service of the documents that all agents share, and of the tenant's configuration."""
        return SharedContext(self.backends)

    @property
    def assembler(self) -> Assembler:
        """Return the service that assembles an agent's context from the tiers."""
        return Assembler(self.backends)

    @property
    def sign_ins(self) -> SignIns:
        """Return the service that ends sessions of the console, and uses up its sign-in links."""
        return SignIns(self.backends)

    def of_run(self, run_id: str | None) -> "TenantServices":
        """Return the services of a request that is made under a run: they write into the log of the run.

        Raises:
            InvalidRequest: the id has not the form of a run's id.
        """
        limits.check(("run_id", limits.RUN_ID, run_id))
        return TenantServices(replace(self.backends, run_id=run_id))

    def of_call(self, agent_id: str, tools: ToolSet) -> "TenantServices":
        """Return the services for one call of an agent's tool, which is in this set.

        They raise ``ToolNotGiven`` where the agent has another set of tools.
        """
        scope = Scope(self.backends.tenant_id, agent_id)
        database = ToolCallDatabase(self.backends.data.database, scope, tools)
        return TenantServices(self.backends.with_database(database))
