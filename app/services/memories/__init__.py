"""Stores, recalls, explains, lists and takes back one tenant's memories."""
