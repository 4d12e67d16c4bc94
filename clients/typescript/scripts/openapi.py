"""Prints the OpenAPI document of the service in this checkout, of which the client's operations and types are made."""

import json
import sys

from app.interfaces.http.application import openapi_document

json.dump(openapi_document(), sys.stdout, ensure_ascii=False)
