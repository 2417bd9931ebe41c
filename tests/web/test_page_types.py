"""The page's types of the interface are those of the routes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from server.api.openapi import openapi_document
from server.api.table import whole_table

_TYPES = Path(__file__).parents[2] / "web" / "src" / "api" / "schema.d.ts"


def test_the_page_has_the_types_of_these_very_routes() -> None:
    """`web/scripts/types.mjs` writes them and names the document that they were made from."""
    document = json.dumps(openapi_document(whole_table().bindings, "0"), sort_keys=True)
    digest = hashlib.sha256(document.encode()).hexdigest()
    first = _TYPES.read_text(encoding="utf-8").partition("\n")[0]
    assert digest in first, "web/src/api/schema.d.ts is out of date. Run in web/: npm run types"
