"""The model that benchmarks draw with: mini, or, in a checkout without its weights, the same untrained."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from nodes.models import MINI, ROOTS_VARIABLE, mini_folder

ROOT = Path(__file__).parents[2]


class BenchModel(NamedTuple):
    """The name that workflows call it by, its folder, and what to say about it beside figures."""

    name: str
    folder: Path
    note: str


@contextmanager
def bench_model() -> Iterator[BenchModel]:
    """mini if its weights are here; else an untrained one in a folder that lasts as long as the block."""
    quiet_libraries()
    if (mini_folder() / "model_index.json").is_file():
        yield BenchModel(MINI, mini_folder(), "")
        return
    root = Path(tempfile.mkdtemp(prefix="latentgraph-model-"))
    before = os.environ.get(ROOTS_VARIABLE)
    os.environ[ROOTS_VARIABLE] = str(root)
    try:
        _save_untrained(root / "untrained")
        yield BenchModel("untrained", root / "untrained", "mini untrained")
    finally:
        if before is None:
            del os.environ[ROOTS_VARIABLE]
        else:
            os.environ[ROOTS_VARIABLE] = before
        shutil.rmtree(root)


def quiet_libraries() -> None:
    """Keep the model libraries' advice and progress bars out of the tables, in this process and those it starts."""
    os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "DIFFUSERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    for name in ("torchao", "torch.utils._pytree", "diffusers"):
        logging.getLogger(name).setLevel(logging.ERROR)


def _save_untrained(folder: Path) -> None:
    import torch
    from diffusers import ZImagePipeline

    from nodes.mini import models
    from nodes.mini.defaults import GUIDANCE, STEPS
    from nodes.mini.tokens import train_tokenizer

    torch.manual_seed(0)
    tokenizer = train_tokenizer(0)
    vae = models.build_vae().eval()
    vae.register_to_config(scaling_factor=0.36, shift_factor=0.11)
    ZImagePipeline(
        scheduler=models.build_scheduler(),
        vae=vae,
        text_encoder=models.build_text_encoder(len(tokenizer)).eval(),
        tokenizer=tokenizer,
        transformer=models.build_transformer().eval(),
    ).save_pretrained(folder)
    (folder / "latentgraph.json").write_text(json.dumps({"steps": STEPS, "guidance": GUIDANCE}))


def workflow(name: str, model: BenchModel, *, saves: bool = True) -> dict[str, Any]:
    """A shipped workflow with this model; without `saves`, its outputs are the pictures that it would save."""
    document = json.loads((ROOT / "workflows" / f"{name}.json").read_text(encoding="utf-8"))
    nodes = document["nodes"]
    for node in nodes.values():
        if node["type"] == "load_pipeline":
            node["inputs"]["model"] = model.name
    document["requires"]["models"] = [model.name]
    if not saves:
        del document["view"]
        document["outputs"] = {
            id: {"from": nodes.pop(id)["inputs"]["image"]["link"]}
            for id in [id for id, node in nodes.items() if node["type"] == "save_image"]
        }
    return document


def fresh_folder(prefix: str = "latentgraph-bench-") -> Path:
    """A new folder in memory where the system has such a place, else on disk; its maker removes it."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix=prefix, dir=memory if os.access(memory, os.W_OK) else None))
