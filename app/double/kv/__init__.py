"""Workers KV: values under keys, with expiry and metadata."""
