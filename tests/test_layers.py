"""Imports point down only: server -> nodes -> graph, and each layer imports only what it may."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodes.builtin import MODULES

ROOT = Path(__file__).parents[1]
LAYERS = ("graph", "nodes", "server")
#: Beside the standard library and what lies below.
GRAPH_MAY_IMPORT = {"networkx", "msgpack", "diskcache", "pydantic"}
SERVER_MAY_NOT_IMPORT = {"torch", "diffusers", "transformers", "torchao", "tokenizers"}
TORCH_LIKE = ("torch", "diffusers", "transformers", "torchao", "tokenizers", "accelerate")


def imports_of(layer: str) -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / layer).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            else:
                continue
            yield from ((f"{path.relative_to(ROOT)}:{node.lineno}", name.partition(".")[0]) for name in names)


@pytest.mark.parametrize("layer", LAYERS)
def test_no_layer_imports_one_above_it(layer: str) -> None:
    above = set(LAYERS[LAYERS.index(layer) + 1 :]) | {"tests"}
    assert [f"{where} imports {name}" for where, name in imports_of(layer) if name in above] == []


def test_the_engine_imports_only_what_it_may() -> None:
    allowed = GRAPH_MAY_IMPORT | set(sys.stdlib_module_names) | {"graph"}
    assert [f"{where} imports {name}" for where, name in imports_of("graph") if name not in allowed] == []


def test_the_server_layer_does_not_name_torch() -> None:
    assert [f"{where} imports {name}" for where, name in imports_of("server") if name in SERVER_MAY_NOT_IMPORT] == []


def light_modules() -> list[str]:
    """Every module of graph and server, the node declarations, and those that hold recipes, value types and the runtime."""
    paths = [path for layer in ("graph", "server") for path in sorted((ROOT / layer).rglob("*.py"))]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths]
    return [*names, *MODULES, "nodes.values", "nodes.recipes", "nodes.models", "nodes.runtime", "nodes.pool"]


def test_light_modules_import_without_torch() -> None:
    names = light_modules()
    program = (
        f"import sys, importlib\nfor name in {TORCH_LIKE!r}: sys.modules[name] = None\n"
        f"for name in {names!r}:\n    importlib.import_module(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
