"""Nodes that write a calibration curve to a file and read it back: measured once, used with `mag_cache` for months."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Final

from graph.context import Context
from graph.errors import Refused
from graph.node import node
from graph.publish import origin_of, output_name, publish
from graph.spec import Doc, File
from graph.types import plain_fields
from nodes.files import find_file
from nodes.sampling.options import LONGEST_CURVE, Curve

FORMAT: Final = "latentgraph/curve-1"
LARGEST_BYTES: Final = 2**20


@node(title="Save curve", version=1, category="save", effect=True, output="file")
def save_curve(ctx: Context, curve: Curve, name: Annotated[str, Doc("How the file's name begins")] = "curve") -> str:
    """Write a curve as JSON, with what it was measured on, and give its file name."""
    chosen = output_name(ctx, name)
    content = json.dumps({"format": FORMAT, **plain_fields(curve)}, indent=2, allow_nan=False).encode()
    record = {"id": chosen, "file": f"{chosen}.curve", "kind": "curve", "run": dict(ctx.resolved), **origin_of(ctx)}
    publish(ctx.output_folder, chosen, ".curve", content, record)
    return f"{chosen}.curve"


@node(title="Load curve", version=1, category="denoise", light=True, output="curve")
def load_curve(ctx: Context, file: Annotated[str, File(("curve",)), Doc("A file that save_curve wrote")]) -> Curve:
    """A curve from a file, known while planning. Refuses a file that is missing or no curve."""
    try:
        path, name = find_file(ctx.home, file)
    except ValueError as error:
        raise Refused(str(error), port="file", code="missing_file") from error
    try:
        with path.open("rb") as opened:
            return read_curve(opened.read(LARGEST_BYTES + 1))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Refused(f"{name} is no curve: {error}. Measure one with calibrate_curve", port="file", code="bad_curve") from error


def read_curve(data: bytes) -> Curve:
    """The curve that `save_curve` wrote. Raises ValueError, TypeError, KeyError or RecursionError for anything else."""
    if len(data) > LARGEST_BYTES:
        raise ValueError(f"it has more than {LARGEST_BYTES} bytes")
    written: dict[str, Any] = json.loads(data)
    if not isinstance(written, dict) or written.get("format") != FORMAT:
        raise ValueError(f'its format is not "{FORMAT}"')
    empty = Curve((1.0,), "", 1, 0, 0, 0.0, "", 0.0)
    fields = {name: written[name] for name in plain_fields(empty)}
    for name, example in plain_fields(empty).items():
        kind = (int, float) if isinstance(example, float) else type(example)
        found = fields[name]
        if not isinstance(found, kind) or isinstance(found, bool) or (isinstance(found, float) and not math.isfinite(found)):
            raise ValueError(f"its {name} is {fields[name]!r}")
    ratios = fields["ratios"]
    if not 1 <= len(ratios) <= LONGEST_CURVE or not all(type(one) in (int, float) and 0 < one < 1e6 for one in ratios):
        raise ValueError(f"its ratios are not 1 to {LONGEST_CURVE} positive numbers")
    return Curve(**fields | {"ratios": tuple(float(one) for one in ratios)})
