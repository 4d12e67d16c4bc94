"""What one tenant can do with its memories. Each service is bound to one tenant when it is made."""
