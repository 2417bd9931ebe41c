"""Benchmark of the step caches on mini: steps left out, and how far the pictures move. `python -m tests.bench.levers`.

The yardstick is the plain run with as many steps as the cache computed: a cache that is no nearer to the picture of all
steps than that is worth nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from graph.collector import relax_collector
from graph.engine import Engine
from nodes.mini.defaults import GUIDANCE
from nodes.mini.fidelity import held_out
from tests.bench.default_workflow import carry_out
from tests.bench.devices import engine_on
from tests.bench.model import ROOT, BenchModel, bench_model
from tests.bench.table import Row, row, show

STEPS = 30
#: Half as many pictures again would not move the means by a tenth of the bars; this takes minutes on two cores.
CAPTIONS = 24
PRESETS = ("quality", "balanced", "fast")
#: The magnitude cache that is judged. mini's curve is flatter than the large models' on which the presets were measured:
#: a small error budget, single steps only, from the tenth part on. Chosen on 24 validation captions, judged on others.
JUDGED = {"threshold": 0.008, "max_skip": 1, "retention": 0.1}
#: The caption and seed that the curve is measured on; none of the others.
CALIBRATION = ("a large red circle on a blue background", 1)

Nodes = dict[str, Mapping[str, Any]]


class Drawn(NamedTuple):
    """Pictures, each (3, H, W), their latents, each (16, h, w), and the steps computed for each."""

    pictures: list[Any]
    latents: list[Any]
    computed: list[int]


def link(output: str) -> dict[str, str]:
    """A link to `node.port`."""
    return {"link": output}


def document(model: BenchModel, captions: Sequence[str], steps: int, cache: Nodes) -> str:
    """One picture for each caption, each with a seed of its own. `cache` are nodes of which `step_cache` is linked to denoise, or none."""
    nodes: Nodes = {
        "model": {"type": "load_pipeline", "inputs": {"model": model.name}},
        "prompts": {"type": "texts", "inputs": {"lines": "\n".join(captions)}},
        "seeds": {"type": "seeds", "inputs": {"first": 1000, "count": len(captions)}},
        "size": {"type": "empty_latents", "inputs": {"width": 64, "height": 64}},
        **_text("", link("prompts.values")),
        **_text("empty_", ""),
        "decode": {"type": "decode", "inputs": {"vae": link("model.vae"), "latents": link("denoise.latents")}},
        **cache,
    }
    inputs = _denoising(steps) | {"positive": link("encode.embedding"), "seed": link("seeds.values")}
    nodes["denoise"] = {"type": "denoise", "inputs": inputs | ({"step_cache": link("cache.step_cache")} if cache else {})}
    outputs = {
        "images": {"from": "decode.image"},
        "latents": {"from": "denoise.latents"},
        "computed": {"from": "denoise.steps_computed"},
    }
    return json.dumps({"format": "latentgraph/workflow", "version": "1.0", "name": "levers", "nodes": nodes, "outputs": outputs})


def _text(prefix: str, prompt: Any) -> Nodes:
    return {
        f"{prefix}tokens": {"type": "tokenize", "inputs": {"tokenizer": link("model.tokenizer"), "prompt": prompt}},
        f"{prefix}encode": {
            "type": "encode_text",
            "inputs": {"text_encoder": link("model.text_encoder"), "tokens": link(f"{prefix}tokens.tokens")},
        },
    }


def _denoising(steps: int) -> dict[str, Any]:
    return {
        "denoiser": link("model.denoiser"),
        "scheduler": link("model.scheduler"),
        "negative": link("empty_encode.embedding"),
        "latents": link("size.latents"),
        "steps": steps,
        "guidance": GUIDANCE,
    }


def magnitude(**options: Any) -> Nodes:
    """A magnitude cache with a curve measured on the calibration caption. `options` are inputs of `mag_cache`."""
    caption, seed = CALIBRATION
    inputs = _denoising(STEPS) | {"positive": link("known_encode.embedding"), "seed": seed}
    return {
        **_text("known_", caption),
        "curve": {"type": "calibrate_curve", "inputs": inputs},
        "cache": {"type": "mag_cache", "inputs": {**options, "curve": link("curve.curve")}},
    }


def first_block(preset: str) -> Nodes:
    """A first-block cache."""
    return {"cache": {"type": "fb_cache", "inputs": {"preset": preset}}}


def draw(engine: Engine, model: BenchModel, steps: int, cache: Nodes, count: int = CAPTIONS) -> Drawn:
    """The pictures of the first held-out captions."""
    text = document(model, [case.caption for case in held_out()[:count]], steps, cache)
    outputs = carry_out(engine, text).outputs
    latents = [one.samples.torch()[0] for one in outputs["latents"]]
    return Drawn([image.pixels.torch()[0] for image in outputs["images"]], latents, outputs["computed"])


def distances(made: Sequence[Any], reference: Sequence[Any]) -> list[float]:
    """Relative L2 distance of each picture to its reference."""
    return [float((a - b).norm() / b.norm()) for a, b in zip(made, reference, strict=True)]


def levers(model: BenchModel) -> list[Row]:
    """Both caches in all presets against plain runs."""
    found: list[Row] = []
    with engine_on(("cpu",), "thread") as engine:
        caches = {"MagCache, fit to mini": magnitude(**JUDGED)}
        caches |= {f"MagCache, {preset}": magnitude(preset=preset) for preset in PRESETS}
        caches |= {f"FBCache, {preset}": first_block(preset) for preset in PRESETS}
        cached = {name: draw(engine, model, STEPS, nodes) for name, nodes in caches.items()}
        plain = {STEPS: draw(engine, model, STEPS, {})}
        for number, (name, made) in enumerate(cached.items()):
            steps = max(1, math.ceil(statistics.mean(made.computed)))
            if steps not in plain:
                plain[steps] = draw(engine, model, steps, {})
            found += _compared(name, made, plain[STEPS], plain[steps], steps, judge=number == 0 and not model.note)
        after = digest(plain[STEPS].pictures[:2])
    alone = subprocess.run(
        [sys.executable, "-m", "tests.bench.levers", "--plain"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()[-1]
    differ = float(after != alone)
    found.append(row("plain pictures after cached ones, unlike a fresh process", [differ], "", at_most=0.0, note="bits of 2"))
    return found


def _compared(name: str, made: Drawn, full: Drawn, fewer: Drawn, steps: int, judge: bool) -> list[Row]:
    found = [row(f"{name}: computed of {STEPS} steps", made.computed, "", at_most=20 if judge else None, by=1.0)]
    for what in ("pictures", "latents"):
        ours = statistics.mean(distances(getattr(made, what), getattr(full, what)))
        theirs = statistics.mean(distances(getattr(fewer, what), getattr(full, what)))
        label = f"- distance of the {what} / that of {steps} plain steps"
        bar = 0.6 if judge and what == "pictures" else None
        note = f"{ours:.4f} against {theirs:.4f}, {len(made.computed)} captions"
        found.append(row(label, [ours / theirs if theirs else math.nan], "x", at_most=bar, note=note))
    return found


def digest(pictures: Iterable[Any]) -> str:
    """One digest of the pictures' bits."""
    return hashlib.sha256(b"".join(picture.contiguous().numpy().tobytes() for picture in pictures)).hexdigest()


def rows() -> list[Row]:
    """All measurements."""
    relax_collector()
    with bench_model() as model:
        return levers(model)


def plain_digest() -> str:
    """The digest of the first two pictures, drawn in a process that has never used a cache."""
    with bench_model() as model, engine_on(("cpu",), "thread") as engine:
        return digest(draw(engine, model, STEPS, {}, count=2).pictures)


if __name__ == "__main__":
    if sys.argv[1:] == ["--plain"]:
        print(plain_digest())
        sys.exit()
    sys.exit(0 if show(rows()) else 1)
