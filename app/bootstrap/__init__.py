"""Builds the service, or the parts of it that a command needs, from the settings.

It is the only package that names concrete adapters.
"""

from app.adapters.local.multilingual.conversion import convert as convert_multilingual_model
from app.bootstrap.account import Close, build_client, process_name
from app.bootstrap.backups import back_up_files
from app.bootstrap.cores import load_shared, worker_count
from app.bootstrap.credentials import build_credentials
from app.bootstrap.databases import open_database, open_databases, open_for_act, open_tenant_database, read_shards
from app.bootstrap.deployment import DeploymentOptions, build_deployment, build_destruction
from app.bootstrap.files import DATABASE_FILE, shard_file
from app.bootstrap.maintenance import open_maintenance
from app.bootstrap.models import build_embedder, build_reader
from app.bootstrap.objects import build_objects
from app.bootstrap.provisioning import build_provisioning, make_shard
from app.bootstrap.rooms import file_rooms, vacuum_files
from app.bootstrap.service import build_runtime, build_shards

__all__ = [
    "DATABASE_FILE",
    "Close",
    "DeploymentOptions",
    "back_up_files",
    "build_client",
    "build_credentials",
    "build_deployment",
    "build_destruction",
    "build_embedder",
    "build_objects",
    "build_provisioning",
    "build_reader",
    "build_runtime",
    "build_shards",
    "convert_multilingual_model",
    "file_rooms",
    "load_shared",
    "make_shard",
    "open_database",
    "open_databases",
    "open_for_act",
    "open_maintenance",
    "open_tenant_database",
    "process_name",
    "read_shards",
    "shard_file",
    "vacuum_files",
    "worker_count",
]
