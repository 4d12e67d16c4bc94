"""Services that several vendors and servers offer in one form over HTTP."""
