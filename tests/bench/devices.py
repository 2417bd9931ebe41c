"""Benchmark of two devices, of long lists and of memory over many runs. `python -m tests.bench.devices`.

The devices are two virtual ones on the CPU, with one torch thread each, so two cores must be free: samples during which
other processes used more than a tenth of a core do not count.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

from graph.active import RunResult
from graph.catalogue import load_catalogue
from graph.collector import relax_collector
from graph.engine import Engine, Limits
from graph.processes import ProcessWorker
from nodes.builtin import MODULES
from nodes.recipes import TextEncoder
from nodes.runtime import DeviceRuntime
from tests.bench.default_workflow import carry_out, prompts, with_prompt
from tests.bench.model import BenchModel, bench_model, fresh_folder, workflow
from tests.bench.table import BusyElsewhere, Row, row, show

FREE = 0.1
TWO = ("cpu:0", "cpu:1")
#: Steps of the long comparison; 10 are mini's default.
STEPS = 30
WARM_RUNS = 300


class BusyBesides(BusyElsewhere):
    """The same, with what the engines' own worker processes use left out."""

    def __init__(self, engines: Iterable[Engine]) -> None:
        workers = [worker for engine in engines for worker in engine.workers.values()]
        self._processes = [worker.pid for worker in workers if isinstance(worker, ProcessWorker) and worker.pid]

    def __enter__(self) -> BusyBesides:
        self._children = _cpu_seconds(self._processes)
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        wall = time.perf_counter() - self._start[0]
        super().__exit__(*error)
        self.cores = max(0.0, self.cores - (_cpu_seconds(self._processes) - self._children) / max(wall, 1e-9))


def _cpu_seconds(processes: Iterable[int]) -> float:
    total = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


@contextmanager
def engine_on(devices: tuple[str, ...], workers: Literal["thread", "process"], limits: Limits | None = None) -> Iterator[Engine]:
    """An engine whose devices have one torch thread each and have started."""
    home = fresh_folder()
    try:
        library = load_catalogue(home, MODULES, packs=False).registry()
        with Engine(
            library,
            home,
            devices=devices,
            workers=workers,
            runtime=lambda device, threads: DeviceRuntime(device, 1),
            setup="nodes.runtime:worker_without_packs",
            limits=limits or Limits(),
        ) as engine:
            for worker in engine.workers.values():
                if isinstance(worker, ProcessWorker):
                    worker.threads = 1
                    worker.start()
            for device in engine.executor.schedule.devices.values():
                device.start_seconds = 0.0
            yield engine
    finally:
        shutil.rmtree(home)


def branches(model: BenchModel, seed: int, steps: int | None) -> str:
    """Two denoise branches with seeds of their own."""
    document = workflow("mini_two_devices", model, saves=False)
    for at, name in enumerate(("denoise", "second_denoise")):
        document["nodes"][name]["inputs"] |= {"seed": 2 * seed + at} | ({"steps": steps} if steps else {})
    return json.dumps(document)


def seconds_of(engine: Engine, text: str) -> float:
    """How long a run takes."""
    start = time.perf_counter()
    carry_out(engine, text)
    return time.perf_counter() - start


def devices_of(result: RunResult, *types: str) -> set[str]:
    """Where the nodes of these types ran."""
    return {node.device for node in result.nodes if node.state == "done" and node.type in types}


def two_against_one(model: BenchModel, workers: Literal["thread", "process"], steps: int | None, rounds: int = 9) -> list[Row]:
    """Two branches on one device and on two, in turns; new seeds each time, so that only denoise and decode run."""
    pairs, clean, busy = [], [], []
    with ExitStack() as stack:
        one = stack.enter_context(engine_on(TWO[:1], workers))
        two = stack.enter_context(engine_on(TWO, workers))
        for seed in range(3):
            carry_out(one, branches(model, seed, steps))
            warm = carry_out(two, branches(model, seed, steps))
        assert devices_of(warm, "denoise") == set(TWO), "the branches did not run on both devices"
        for number in range(rounds):
            text = branches(model, 100 + number, steps)
            with BusyBesides((one, two)) as others:
                order = (one, two) if number % 2 else (two, one)
                cost = {id(engine): seconds_of(engine, text) for engine in order}
            pairs.append(cost[id(one)] / cost[id(two)])
            busy.append(others.cores)
            if others.cores <= FREE:
                clean.append(pairs[-1])
    judged = workers == "process" and steps == STEPS
    name = f"two devices as {workers}{'es' if workers == 'process' else 's'}, {steps or 'default'} steps"
    note = f"others {min(busy):.1f}-{max(busy):.1f} cores" + (f"; {model.note}" if model.note else "")
    if len(clean) >= 5:
        return [row(name, clean, "x", at_least=1.75 if judged else None, note=note)]
    line = row(name, pairs, "x", at_least=1.75 if judged else None, note=f"{note}: no free core, not judged")
    return [line if line.met else line._replace(met=None)]


def grid(model: BenchModel) -> list[Row]:
    """The prompt grid on two devices."""
    with engine_on(TWO, "process") as engine:
        result = carry_out(engine, json.dumps(workflow("mini_prompt_grid", model, saves=False)))
    used = [sum(node.device == name and node.type == "denoise" for node in result.nodes) for name in TWO]
    encoded = sum(node.type == "encode_text" and node.state == "done" for node in result.nodes)
    return [
        row("grid: denoise calls on the less used device", [min(used)], "", at_least=1, note=f"{used[0]} and {used[1]}"),
        row("- texts encoded (2 prompts and the empty one)", [encoded], "", at_most=3),
    ]


# ---- lists ----


def list_document(model: BenchModel, lines: Iterable[str]) -> str:
    """Every text encoded; the list of embeddings is what is wanted."""
    nodes: dict[str, Mapping[str, Any]] = {
        "model": {"type": "load_pipeline", "inputs": {"model": model.name}},
        "prompts": {"type": "texts", "inputs": {"lines": "\n".join(lines)}},
        "tokens": {
            "type": "tokenize",
            "inputs": {"tokenizer": {"link": "model.tokenizer"}, "prompt": {"link": "prompts.values"}},
        },
        "encode": {
            "type": "encode_text",
            "inputs": {"text_encoder": {"link": "model.text_encoder"}, "tokens": {"link": "tokens.tokens"}},
        },
        "prune": {"type": "prune_tokens", "inputs": {"embedding": {"link": "encode.embedding"}}},
    }
    outputs = {"embeddings": {"from": "prune.embedding"}}
    return json.dumps({"format": "latentgraph/workflow", "version": "1.0", "name": "list", "nodes": nodes, "outputs": outputs})


def lists(model: BenchModel, count: int = 500) -> list[Row]:
    """Many prompts: how often the text encoder is built, and what one changed prompt costs."""
    builds, build = [], TextEncoder.build
    lines = [f"a large red circle on a blue background, number {number}" for number in range(count)]
    TextEncoder.build = lambda self, device: builds.append(device) or build(self, device)  # type: ignore[method-assign]
    try:
        with engine_on(("cpu",), "thread") as engine:
            first = carry_out(engine, list_document(model, lines))
            lines[count // 2] += ", changed"
            second = carry_out(engine, list_document(model, lines))
    finally:
        TextEncoder.build = build  # type: ignore[method-assign]
    ran = [[n for n in result.nodes if n.type == "encode_text" and n.state == "done"] for result in (first, second)]
    mean = sum(node.seconds for node in ran[0]) / count
    return [
        row(f"text encoder builds for {count} prompts", [len(builds)], "", at_most=1, note=f"{len(ran[0])} encoded"),
        row("- encodes after one prompt changed", [len(ran[1])], "", at_most=1, note=f"each took {1000 * mean:.1f} ms"),
    ]


# ---- memory ----


def memory(model: BenchModel, runs: int = 200) -> list[Row]:
    """Resident memory over many runs in one process, with a new prompt each, after 300 that fill what is bounded.

    Those fill the allocator's and SQLite's pages (8,192 of 4 KB): 39 KB a run up to the 300th, 8 after it, of which the
    memo's table of actions is 5. A picture that stayed would show: 48 KB of pixels, 400 KB with all that is above it.
    """
    held: list[int] = []
    document = workflow("mini_text_to_image", model, saves=False)
    document["nodes"]["denoise"]["inputs"]["steps"] = 2
    supply = prompts()
    with engine_on(("cpu",), "thread", Limits(ram=8 * 2**20)) as engine:
        for _ in range(WARM_RUNS + runs):
            carry_out(engine, with_prompt(document, next(supply)))
            held.append(_resident_bytes())
    judged = held[WARM_RUNS:]
    note = f"{judged[0] / 2**20:.0f} MB before, {judged[-1] / 2**20:.0f} MB after"
    return [row(f"memory over {runs} runs", [_slope(judged) / 1024], "KB a run", at_most=32.0, note=note)]


def _resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _slope(values: list[int]) -> float:
    """The slope of the line of least squares through values at 0, 1, 2, ..."""
    middle, mean = (len(values) - 1) / 2, sum(values) / len(values)
    across = sum((at - middle) ** 2 for at in range(len(values)))
    return sum((at - middle) * (value - mean) for at, value in enumerate(values)) / across


PARTS: dict[str, Callable[[BenchModel], list[Row]]] = {
    "processes": lambda model: two_against_one(model, "process", STEPS) + two_against_one(model, "process", None),
    "threads": lambda model: two_against_one(model, "thread", STEPS) + two_against_one(model, "thread", None),
    "grid": grid,
    "lists": lists,
    "memory": memory,
}


def rows(parts: Iterable[str] = tuple(PARTS)) -> list[Row]:
    """All measurements, or some parts of them."""
    relax_collector()
    with bench_model() as model:
        return [found for part in parts for found in PARTS[part](model)]


if __name__ == "__main__":
    sys.exit(0 if show(rows(sys.argv[1:] or PARTS)) else 1)
