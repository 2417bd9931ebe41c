"""The node that writes a picture where people find it, with everything needed to make it again inside.

numpy and Pillow only: a picture that was remembered is saved without loading torch.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Final

from graph.context import Context
from graph.errors import Refused
from graph.node import node
from graph.publish import origin_of, output_name, publish
from graph.spec import Doc
from nodes.image import LARGEST_GRID_SIDE, to_pictures
from nodes.values import Image

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

#: The PNG text chunks: the workflow, the resolved run, and the one-line form that other programs read.
WORKFLOW_CHUNK: Final = "workflow"
RUN_CHUNK: Final = "latentgraph"
PARAMETERS_CHUNK: Final = "parameters"


def _refuse_without_encoder(inputs: dict[str, Any]) -> dict[str, Any]:  # Any: inputs of any kind, none of which is looked at
    """While planning: an encoder that is missing must not be noticed at the end of a long run (spec J10)."""
    try:
        from PIL import _imaging  # heavy: not every plan saves

        has_encoder = hasattr(_imaging, "zip_encoder")
    except ImportError:
        has_encoder = False
    if not has_encoder:
        raise Refused(
            "PNG files cannot be written here: Pillow or its zlib is missing. Install pillow again", code="missing_encoder"
        )
    return {}


@node(title="Save image", version=1, category="save", effect=True, output="file", resolve=_refuse_without_encoder)
def save_image(
    ctx: Context,
    image: Image,
    name: Annotated[str, Doc("How the file's name begins")] = "image",
) -> str:
    """Write a PNG that carries its workflow and settings, and give its file name. Never replaces a file.

    Of several pictures in one value each becomes a file; the first one's name is given, the others are noted. A job that
    is tried again finds what it saved before and saves nothing twice.
    """
    resolved = ctx.resolved
    settings = settings_of(resolved) | {"width": image.width, "height": image.height}
    names = []
    for index, picture in enumerate(to_pictures(image)):
        chosen = output_name(ctx, name, index)
        content = png_bytes(picture, settings, resolved)
        record = {"id": chosen, "file": f"{chosen}.png", "kind": "image", "settings": settings, "run": dict(resolved)}
        record |= {"sha256": sha256(content).hexdigest(), **origin_of(ctx, index)}
        publish(ctx.output_folder, chosen, ".png", content, record)
        names.append(f"{chosen}.png")
    if names[1:]:
        ctx.note(f"Also saved: {', '.join(names[1:])}.")
    return names[0]


def png_bytes(picture: Picture, settings: Mapping[str, Any], resolved: Mapping[str, Any]) -> bytes:
    """A PNG with the settings, the resolved run and its workflow inside (Any: plain JSON)."""
    from PIL.PngImagePlugin import PngInfo

    chunks = PngInfo()
    chunks.add_itxt(PARAMETERS_CHUNK, parameters_line(settings))
    chunks.add_itxt(RUN_CHUNK, _json({"settings": dict(settings), "run": {k: v for k, v in resolved.items() if k != "workflow"}}))
    if "workflow" in resolved:
        chunks.add_itxt(WORKFLOW_CHUNK, _json(resolved["workflow"]))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", pnginfo=chunks, compress_level=4)
    return buffer.getvalue()


def read_png(data: bytes) -> dict[str, dict[str, Any]]:
    """What `png_bytes` put in: "settings", "run", "workflow" (each {} if absent; Any: plain JSON).

    Raises ValueError for anything but a PNG, one with sides above 16384 pixels, or one whose text is not of this form.
    """
    from PIL import Image as Pillow
    from PIL import UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Pillow.DecompressionBombWarning)  # large grids are ours; the limit is below
            with Pillow.open(io.BytesIO(data), formats=("PNG",)) as opened:
                if max(opened.size) > LARGEST_GRID_SIDE:
                    raise ValueError(f"it is {opened.width}x{opened.height} pixels; a side may have {LARGEST_GRID_SIDE}")
                chunks = dict(getattr(opened, "text", {}))  # decodes the pixels: texts may stand behind them
    except Pillow.DecompressionBombError:
        raise ValueError("it has more pixels than can be opened safely") from None
    except UnidentifiedImageError:  # its message names an object of Python, and no reason
        raise ValueError("this is no readable PNG") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"this is no readable PNG: {error}") from error
    found = _object(chunks, RUN_CHUNK)
    return {
        "settings": _member(found, "settings"),
        "run": _member(found, "run"),
        "workflow": _object(chunks, WORKFLOW_CHUNK),
    }


def _object(chunks: Mapping[str, str], name: str) -> dict[str, Any]:  # Any: plain JSON
    try:
        value = json.loads(chunks.get(name, "{}"))
    except (ValueError, RecursionError):
        raise ValueError(f'its text "{name}" is no JSON that this program wrote') from None
    if not isinstance(value, dict):
        raise ValueError(f'its text "{name}" holds no JSON object')
    return value


def _member(found: Mapping[str, Any], name: str) -> dict[str, Any]:  # Any: plain JSON
    value = found.get(name, {})
    if not isinstance(value, dict):
        raise ValueError(f'"{name}" in its text "{RUN_CHUNK}" is no JSON object')
    return value


def settings_of(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Prompt, steps, guidance, seed and the like, from the nodes above the save; null where none or several say it.

    `resolved` is the run's record (`Context.resolved`); Any: plain JSON.
    """
    nodes: Mapping[str, Any] = resolved.get("nodes", {})
    samplers = [id for id in nodes if nodes[id].get("type") == "denoise"]
    sampler = samplers[0] if len(samplers) == 1 else None
    inputs = nodes[sampler].get("inputs", {}) if sampler else {}
    return {
        "prompt": _prompt(resolved, sampler, "positive"),
        # without guidance it is not looked at
        "negative_prompt": None if inputs.get("guidance") == 0 else _prompt(resolved, sampler, "negative"),
        "steps": inputs.get("steps"),
        "guidance": inputs.get("guidance"),
        "seed": inputs.get("seed"),
        "strength": inputs.get("strength"),
        "model": _single(nodes, resolved, "load_pipeline", "model"),
        "created_at": resolved.get("created_at") or datetime.now(UTC).isoformat(timespec="seconds"),
    }


def parameters_line(settings: Mapping[str, Any]) -> str:
    """The settings as other programs write and read them: prompt, negative prompt, then "Steps: 20, Seed: 7, ..."."""
    named = {"Steps": "steps", "CFG scale": "guidance", "Seed": "seed", "Denoising strength": "strength", "Model": "model"}
    facts = [f"{label}: {settings[key]}" for label, key in named.items() if settings.get(key) is not None]
    facts.append(f"Size: {settings['width']}x{settings['height']}")
    lines = [str(settings.get("prompt") or "")]
    if settings.get("negative_prompt"):
        lines.append(f"Negative prompt: {settings['negative_prompt']}")
    return "\n".join([*lines, ", ".join(facts)])


def _prompt(resolved: Mapping[str, Any], sampler: str | None, port: str) -> str | None:  # Any: plain JSON
    """The one text tokenized above a port of the sampler."""
    if sampler is None:
        return None
    found = {
        str(resolved["nodes"][id]["inputs"]["prompt"])
        for id in _above(resolved, sampler, port)
        if resolved["nodes"].get(id, {}).get("type") == "tokenize" and "prompt" in resolved["nodes"][id].get("inputs", {})
    }
    return found.pop() if len(found) == 1 else None


def _above(resolved: Mapping[str, Any], start: str, port: str | None) -> Iterator[str]:  # Any: plain JSON
    """Ids of the nodes that feed a node, through `port` alone or through all its inputs."""
    stack, seen = list(_sources(resolved, start, port)), set[str]()
    while stack:
        id = stack.pop()
        if id not in seen:
            seen.add(id)
            yield id
            stack.extend(_sources(resolved, id, None))


def _sources(resolved: Mapping[str, Any], id: str, port: str | None) -> Iterator[str]:  # Any: plain JSON
    """The nodes linked to one port of a node, or to any."""
    for name, sources in resolved["nodes"].get(id, {}).get("links", {}).items():
        if port is None or name == port:
            yield from sources


def _single(nodes: Mapping[str, Any], resolved: Mapping[str, Any], type: str, port: str) -> Any:  # Any: plain JSON
    workflow = resolved.get("workflow", {}).get("nodes", {})
    entries = [entry for entry in (*nodes.values(), *workflow.values()) if entry.get("type") == type]
    found = {entry.get("inputs", {}).get(port) for entry in entries if isinstance(entry.get("inputs", {}).get(port), str)}
    return found.pop() if len(found) == 1 else None


def _json(value: Any) -> str:  # Any: plain JSON
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
