"""Finding memories: the channels of a recall and how they become entries."""
