"""Memory Gateway for LlamaIndex: a block of its ``Memory``, that memory with every message kept, and a retriever."""

from memory_gateway_client.adapters.llama_index.block import MemoryGatewayBlock, RememberingMemory
from memory_gateway_client.adapters.llama_index.retriever import MemoryGatewayRetriever

__all__ = ["MemoryGatewayBlock", "MemoryGatewayRetriever", "RememberingMemory"]
