"""One program for each generator: it stores, recalls, lists, imports, exports and is refused with the client made.

The address, the credential and what to send are in the environment; what came back is printed as one JSON object.
"""
