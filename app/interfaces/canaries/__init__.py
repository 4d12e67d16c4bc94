"""Plants canaries and looks for them in every answer that the running service gives to other scopes."""
