"""Benchmark of the default workflow against the library's own pipeline. `python -m tests.bench.default_workflow`."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.measure import Meter, judged
from tests.bench.model import ROOT, BenchModel, bench_model, fresh_folder, workflow
from tests.bench.table import BusyElsewhere, Row, row, show

PAIRS = 15
COLOURS = ("red", "green", "blue", "yellow", "purple", "orange", "white", "black")
SHAPES = ("circle", "square", "triangle", "ring", "cross", "star")


def prompts() -> Iterator[str]:
    """Prompts, each of them once."""
    for number in range(10**6):
        colour, shape = COLOURS[number % 8], SHAPES[number // 8 % 6]
        yield f"a large {colour} {shape} on a {COLOURS[(number + 3) % 8]} background{' ' * (number // 48)}"


def with_prompt(document: dict[str, Any], prompt: str, seed: int = 7) -> str:
    """The workflow's text with this prompt and seed."""
    document["nodes"]["tokens"]["inputs"]["prompt"] = prompt
    document["nodes"]["denoise"]["inputs"]["seed"] = seed
    return json.dumps(document)


class Both(NamedTuple):
    """An engine and the library's pipeline around the very modules that the engine's pool holds."""

    engine: Any
    pipeline: Any
    steps: int
    guidance: float


@contextmanager
def both(model: BenchModel, threads: int) -> Iterator[Both]:
    """Engine and pipeline in this process, each with `threads` torch threads; the memo lies in memory."""
    import torch
    from diffusers import ZImagePipeline
    from diffusers.utils import logging as diffusers_logging

    from graph.catalogue import load_catalogue
    from graph.collector import relax_collector
    from graph.engine import Engine
    from nodes.builtin import MODULES
    from nodes.load import load_pipeline
    from nodes.runtime import DeviceRuntime

    diffusers_logging.set_verbosity_error()
    diffusers_logging.disable_progress_bar()
    torch.set_num_threads(threads)
    torch.get_num_threads()
    home = fresh_folder()
    runtimes: list[DeviceRuntime] = []

    def runtime(device: str, _threads: int) -> DeviceRuntime:
        runtimes.append(DeviceRuntime(device, threads))
        return runtimes[-1]

    relax_collector()
    library = load_catalogue(home, MODULES, packs=False).registry()
    try:
        with Engine(library, home, devices=["cpu"], workers="thread", runtime=runtime) as engine:
            carry_out(engine, with_prompt(workflow("mini_text_to_image", model, saves=False), "nothing yet"))
            pools = {("host" if made.device == "host" else "device"): made.pool for made in runtimes}
            recipes = load_pipeline(model.name)
            parts = {}
            for name, recipe in recipes._asdict().items():
                pool = pools["host" if name in ("tokenizer", "scheduler") else "device"]
                with pool.borrow(recipe) as live:
                    parts["transformer" if name == "denoiser" else name] = live
            pipeline = ZImagePipeline(**parts)
            pipeline.set_progress_bar_config(disable=True)
            yield Both(engine, pipeline, recipes.denoiser.steps, recipes.denoiser.guidance)
    finally:
        shutil.rmtree(home)


def carry_out(engine: Any, text: str) -> Any:
    """The whole way from the workflow's text to its result."""
    result = engine.start(engine.plan(engine.load(text), seeds={})).wait(on_events=lambda events: None)
    assert result.state == "done", [node.error for node in result.nodes if node.error]
    return result


def drawn(pair: Both, document: dict[str, Any], prompt: str) -> Any:
    """The engine's picture of a prompt: (1, 3, H, W)."""
    (image,) = carry_out(pair.engine, with_prompt(document, prompt)).outputs.values()
    return image.pixels.torch()


def stock(pair: Both, prompt: str) -> Any:
    """The pipeline's picture of a prompt."""
    import torch

    return pair.pipeline(
        prompt=prompt,
        negative_prompt="",
        width=64,
        height=64,
        num_inference_steps=pair.steps,
        guidance_scale=pair.guidance,
        generator=torch.Generator().manual_seed(7),
        output_type="pt",
    ).images


class Spent(NamedTuple):
    """What one picture took: seconds by the clock, and seconds of CPU of all this process's threads."""

    seconds: float
    of_cpu: float


def against_the_library(model: BenchModel, threads: int) -> list[Row]:
    """A new prompt each time, drawn by both in turns: time of ours / time of theirs. The pictures must be equal."""
    import torch

    document = workflow("mini_text_to_image", model, saves=False)
    with both(model, threads) as pair:
        supply = prompts()
        ours, theirs, busy = list[Spent](), list[Spent](), list[float]()
        acts: list[tuple[list[Spent], Callable[[str], Any]]] = [
            (ours, partial(drawn, pair, document)),
            (theirs, partial(stock, pair)),
        ]
        for number in range(PAIRS + 2):
            prompt = next(supply)
            pictures = []
            with BusyElsewhere() as others:
                for samples, act in acts if number % 2 else reversed(acts):
                    start = time.perf_counter(), time.process_time()
                    pictures.append(act(prompt))
                    samples.append(Spent(time.perf_counter() - start[0], time.process_time() - start[1]))
            busy.append(others.cores)
            assert torch.equal(pictures[0], pictures[1].float()), "the engine's picture is not the pipeline's"
        ours, theirs = ours[2:], theirs[2:]
    pairs = list(zip(ours, theirs, strict=True))
    used = statistics.mean(busy)
    named = f"{threads} torch thread{'s' if threads > 1 else ''}"
    note = f"equal pictures; others {used:.1f} cores" + (f"; {model.note}" if model.note else "")
    return [
        row(f"default workflow / pipeline, {named}", [a.seconds / b.seconds for a, b in pairs], "x", at_most=1.03, note=note),
        row("- the same of the CPU time used", [a.of_cpu / b.of_cpu for a, b in pairs], "x"),
        row("- default workflow", [1000 * spent.seconds for spent in ours], "ms"),
        row("- pipeline", [1000 * spent.seconds for spent in theirs], "ms"),
    ]


def unchanged(model: BenchModel) -> list[Row]:
    """The same workflow again in the process; then only another seed."""
    document = workflow("mini_text_to_image", model, saves=False)
    with both(model, 1) as pair:
        text = with_prompt(document, "a large red circle on a blue background")
        carry_out(pair.engine, text)
        meter = Meter()
        for _ in range(15):
            result = meter.time(lambda: carry_out(pair.engine, text))
            assert not any(node.state == "done" and node.note != "light" for node in result.nodes)
        again = list(meter.samples)
    return [judged("unchanged, in the process", again, "ms", 1000, at_most=10.0)]


# ---- the command, as a fresh process ----

WITH_WITNESS = """
import atexit, sys
def tell():
    with open(sys.argv[0], "w") as file:
        file.write(" ".join(name for name in ("torch", "diffusers", "transformers") if name in sys.modules))
from server.cli import main
sys.argv[0] = {witness!r}
atexit.register(tell)
main()
"""


class Command(NamedTuple):
    """A finished `latentgraph` command: what it printed, and which of the heavy libraries it imported."""

    output: str
    imported: str


def latentgraph(home: Path, *arguments: str) -> Command:
    """Run a command in a process of its own."""
    witness = home / "imported"
    program = WITH_WITNESS.format(witness=str(witness))
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "LATENTGRAPH_HOME": str(home)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return Command(done.stdout, witness.read_text())


def commands(model: BenchModel) -> list[Row]:
    """A fresh `run`: unchanged, and with another seed."""
    home = Path(tempfile.mkdtemp(prefix="latentgraph-bench-"))
    try:
        file = home / "default.json"
        file.write_text(json.dumps(workflow("mini_text_to_image", model)))
        run = partial(latentgraph, home, "run", str(file), "--output", str(home / "out"), "--json")
        run()
        meter, imported = Meter(), set[str]()
        for _ in range(9):
            imported.add(meter.time(run).imported)
        ran = [
            (node["id"], node["seconds"], node["state"])
            for node in json.loads(run("--set", "seed=8").output)["nodes"]
            if node["state"] == "done" and node["note"] != "light"
        ]
    finally:
        shutil.rmtree(home)
    wanted = {"denoise", "decode", "save"}
    extra = [f"{id} {1000 * seconds:.1f} ms" for id, seconds, _ in ran if id not in wanted]
    dear = [seconds for id, seconds, _ in ran if id not in wanted and seconds >= 0.005]
    missing = wanted - {id for id, _, _ in ran}
    heavy = " ".join(sorted(imported - {""})) or "none of torch, diffusers, transformers imported"
    return [
        judged("unchanged, a fresh `latentgraph run`", meter.samples, "s", 1, at_most=0.8, note=heavy),
        row("- of these runs, with torch imported", [float(sum("torch" in one for one in imported))], "", at_most=0.0),
        row(
            "another seed: dear nodes before denoise that ran",
            [float(len(dear) + len(missing))],
            "",
            at_most=0.0,
            note=f"ran: {', '.join(id for id, _, _ in ran)}{'; ' + ', '.join(extra) if extra else ''}",
        ),
    ]


# ---- cold start ----

OURS = """
import sys, time
started = float(sys.argv.pop(1))
import graph.workers as workers
def progress(self, step, total, preview=None):
    import os
    print(time.time() - started, flush=True)
    os._exit(0)
workers.WorkerContext.progress = progress
from server.cli import main
main()
"""
THEIRS = """
import sys, time
started = float(sys.argv[1])
import torch
from diffusers import ZImagePipeline
pipeline = ZImagePipeline.from_pretrained(sys.argv[2])
def told(*_):
    import os
    print(time.time() - started, flush=True)
    os._exit(0)
pipeline(prompt="a large red circle on a blue background", negative_prompt="", width=64, height=64,
         num_inference_steps=int(sys.argv[3]), guidance_scale=float(sys.argv[4]), callback_on_step_end=told,
         generator=torch.Generator().manual_seed(7))
"""


def to_first_step(program: str, *arguments: str, home: Path) -> float:
    """Seconds from the start of a process to the end of its first denoise step."""
    environment = {**os.environ, "LATENTGRAPH_HOME": str(home)}
    command = [sys.executable, "-c", program, str(time.time()), *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return float((done.stdout.split() or done.stderr.split())[-1])  # a run sends what nodes print to stderr


def cold(model: BenchModel, rounds: int = 5) -> list[Row]:
    """A fresh `run` that remembers nothing against a script with `from_pretrained` and `__call__`, in turns."""
    from nodes.mini.defaults import GUIDANCE, STEPS

    base = Path(tempfile.mkdtemp(prefix="latentgraph-bench-"))
    try:
        file = base / "default.json"
        file.write_text(json.dumps(workflow("mini_text_to_image", model)))
        latentgraph(base, "nodes")  # makes the catalogue
        ours, theirs, first, busy = [], [], [], []
        for number in range(rounds):
            with BusyElsewhere() as others:
                home = base / f"home{number}"
                home.mkdir()
                shutil.copytree(base / "catalogue", home / "catalogue") if (base / "catalogue").is_dir() else [
                    shutil.copy(path, home) for path in base.glob("catalogue*")
                ]
                arguments = ("run", str(file), "--output", str(base / "out"))
                turns = [
                    lambda home=home: ours.append(to_first_step(OURS, *arguments, home=home)),
                    lambda: theirs.append(to_first_step(THEIRS, str(model.folder), str(STEPS), str(GUIDANCE), home=base)),
                ]
                meter = Meter()
                paces = []
                for turn in turns if number % 2 else reversed(turns):
                    meter.time(turn)
                    paces.append(meter.last.seconds / meter.last.by_clock)
                (ours if number % 2 else theirs)[-1] *= paces[0]
                (theirs if number % 2 else ours)[-1] *= paces[1]
            busy.append(others.cores)
        empty = base / "empty"
        empty.mkdir()
        meter = Meter()
        meter.time(lambda: first.append(to_first_step(OURS, *arguments, home=empty)))
        first[-1] *= meter.last.seconds / meter.last.by_clock
    finally:
        shutil.rmtree(base)
    more = [mine - other for mine, other in zip(ours, theirs, strict=True)]
    return [
        row(
            "cold run to its first step - the script's", more, "s", at_most=0.5, note=f"others {statistics.mean(busy):.1f} cores"
        ),
        row("- cold run", ours, "s"),
        row("- from_pretrained and __call__", theirs, "s"),
        row("- cold run that also makes the catalogue", first, "s"),
    ]


# ---- what a plan predicts ----


def predictions(model: BenchModel, rounds: int = 7) -> list[Row]:
    """After three runs: seconds and peak bytes of the plan against those of the run that follows."""
    document = workflow("mini_text_to_image", model, saves=False)
    seconds, peaks = [], []
    with both(model, 1) as pair, BusyElsewhere() as busy:
        worker = pair.engine.workers["cpu"]
        run, measured = worker.run, []
        worker.run = lambda request, report: measured.append(run(request, report)) or measured[-1]
        supply = prompts()
        for _ in range(3):
            carry_out(pair.engine, with_prompt(document, next(supply)))
        for _ in range(rounds):
            text = with_prompt(document, next(supply))
            plan = pair.engine.described(pair.engine.plan(pair.engine.load(text), seeds={}))
            measured.clear()
            result = carry_out(pair.engine, text)
            seconds.append(100 * abs(plan.seconds / sum(node.seconds for node in result.nodes) - 1))
            peaks.append(100 * abs(max(plan.peak_bytes.values()) / max(one.peak_bytes for one in measured) - 1))
    note = f"others {busy.cores:.1f} cores"
    return [
        row("plan after three runs: seconds off by", seconds, "%", at_most=25.0, note=note),
        row("plan after three runs: peak bytes off by", peaks, "%", at_most=15.0),
    ]


PARTS: dict[str, Callable[[BenchModel], list[Row]]] = {
    "ratio": lambda model: against_the_library(model, 1) + against_the_library(model, os.cpu_count() or 1),
    "unchanged": unchanged,
    "commands": commands,
    "cold": cold,
    "predictions": predictions,
}


def rows(parts: Iterable[str] = tuple(PARTS)) -> list[Row]:
    """All measurements, or some parts of them."""
    with bench_model() as model:
        return [found for part in parts for found in PARTS[part](model)]


if __name__ == "__main__":
    sys.exit(0 if show(rows(sys.argv[1:] or PARTS)) else 1)
