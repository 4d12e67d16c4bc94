"""Programs that train the models that the service carries; nothing here runs in the service."""
