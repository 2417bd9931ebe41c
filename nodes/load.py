"""Nodes that turn a model's name into recipes. They read file headers; nothing is loaded here."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, cast

from graph.context import Context
from graph.errors import Refused
from graph.node import node
from graph.spec import Doc, Model
from nodes.configs import class_of, config_identity, read_config, refuse_code_files, refuse_dangerous
from nodes.families import family_of_pipeline
from nodes.families.family import Defaults, Family
from nodes.models import MINI, find_model
from nodes.recipes import Denoiser, Dtype, Scheduler, TextEncoder, Tokenizer, Vae
from nodes.tensors import DTYPES
from nodes.vocabulary import check_tokenizer, tokenizer_identity
from nodes.weights import Weights, part_identity, weights_of

#: Libraries whose classes a model_index.json may name; anything else there is a file of the folder.
LIBRARIES: Final = ("diffusers", "transformers")
#: What `denoise` takes at most.
MOST_GUIDANCE: Final = 20
_BYTES: Final = {"float32": 4, "bfloat16": 2, "float16": 2}


class Pipeline(NamedTuple):
    """The parts of a text-to-image model."""

    tokenizer: Tokenizer
    text_encoder: TextEncoder
    denoiser: Denoiser
    vae: Vae
    scheduler: Scheduler


@node(title="Load pipeline", version=1, category="load", light=True)
def load_pipeline(
    ctx: Context,
    model: Annotated[str, Model("pipeline"), Doc("A model folder in the diffusers layout, by its name")] = MINI,
    dtype: Annotated[
        Literal["auto", "float32", "bfloat16"], Doc("What the model computes in; auto is what its files hold")
    ] = "auto",
) -> Pipeline:
    """The parts of a model, as recipes. Refuses a folder with missing or damaged files, or parts that do not fit."""
    folder = find_model(model, ctx.home)
    refuse_code_files(folder)
    index = read_config(folder / "model_index.json")
    adapter = family_of_pipeline(class_of(index))
    _check_index(adapter, index, folder / "model_index.json")
    configs = _configs(adapter, folder)
    adapter.check(configs)
    parts = {role: _part(adapter, role, folder, configs[role], dtype) for role in ("text_encoder", "denoiser", "vae")}
    advised, (max_side, max_text) = _advised(adapter, model, folder), adapter.reach(configs["denoiser"])
    place = {role: str(folder / component.subfolder) for role, component in adapter.components.items()}
    return Pipeline(
        Tokenizer(adapter.name, tokenizer_identity(Path(place["tokenizer"])), place["tokenizer"]),
        TextEncoder(adapter.name, *parts["text_encoder"]),
        Denoiser(adapter.name, *parts["denoiser"], advised.steps, advised.guidance, min(max_side, adapter.bounds.high), max_text),
        Vae(adapter.name, *parts["vae"]),
        Scheduler(adapter.name, config_identity(configs["scheduler"]), place["scheduler"]),
    )


def model_weights(model: str, home: Path) -> frozenset[str]:
    """The identities of the weights of a model, as they lie there now; what cannot be read is left out: no part is made of it."""
    found = set[str]()
    with suppress(Refused, OSError):
        folder = find_model(model, home)
        adapter = family_of_pipeline(class_of(read_config(folder / "model_index.json")))
        for component in adapter.components.values():
            place = folder / component.subfolder
            with suppress(Refused, OSError):
                if component.stem:
                    found.add(part_identity(read_config(place / "config.json"), weights_of(place, component.stem)))
    return frozenset(found)


def _configs(adapter: Family, folder: Path) -> dict[str, dict[str, Any]]:  # Any: the library's JSON
    """Each part's configuration, by role. Raises `Refused` for a missing part or one of another class."""
    configs: dict[str, dict[str, Any]] = {}
    for role, component in adapter.components.items():
        if role == "tokenizer":
            check_tokenizer(folder / component.subfolder, component.classes)
            continue
        refuse_code_files(folder / component.subfolder)
        name = "scheduler_config.json" if role == "scheduler" else "config.json"
        configs[role] = config = read_config(folder / component.subfolder / name)
        refuse_dangerous(config, folder / component.subfolder / name)
        found = class_of(config)
        if found not in component.classes:
            wanted = " or ".join(component.classes)
            text = f'{component.subfolder}/{name} describes a "{found}", but {adapter.name} takes {wanted}'
            raise Refused(f"{text}; use parts of one model", port="model", code="family_mismatch")
    return configs


def _check_index(adapter: Family, index: dict[str, Any], path: Path) -> None:  # Any: the library's JSON
    """Raise `Refused` for a model_index.json whose parts are of other libraries or classes than the family's."""
    refuse_dangerous(index, path)
    for role, component in adapter.components.items():
        named = index.get(component.subfolder)
        if named is None:
            continue
        library, kind = named if isinstance(named, list) and len(named) == 2 else (None, None)
        if library not in LIBRARIES or kind not in component.classes:
            wanted = " or ".join(component.classes)
            text = f"model_index.json names {json.dumps(named)[:80]} as {role}, but {adapter.name} takes {wanted}"
            raise Refused(
                f"{text} of {' or '.join(LIBRARIES)}; use a model of its plain layout", port="model", code="family_mismatch"
            )


def _part(
    adapter: Family, role: str, folder: Path, config: dict[str, Any], dtype: str
) -> tuple[str, Dtype, str, int]:  # Any: the library's JSON
    """Identity, dtype, folder and bytes of a part with weights."""
    component = adapter.components[role]
    place = folder / component.subfolder
    weights = weights_of(place, component.stem)
    identity = part_identity(config, weights)
    chosen = _dtype(weights, dtype)
    nbytes = weights.nbytes * _BYTES[chosen] // DTYPES[weights.dtype][1]
    return identity, chosen, str(place), nbytes


def _dtype(weights: Weights, asked: str) -> Dtype:
    """What the part computes in. `auto` is the files' own type, or float32 where they hold one we do not compute in."""
    if asked != "auto":
        return cast(Dtype, asked)
    return cast(Dtype, {"F32": "float32", "BF16": "bfloat16", "F16": "float32"}.get(weights.dtype, "float32"))


def _advised(adapter: Family, name: str, folder: Path) -> Defaults:
    """What the model's makers advise: its own `latentgraph.json` ({"steps", "guidance"}) before the family's.

    Raises `Refused` for a file that is no JSON object, or that advises what `denoise` would not take.
    """
    general = adapter.defaults(name)
    if name == MINI:
        from nodes.mini.defaults import GUIDANCE, STEPS

        return Defaults(STEPS, GUIDANCE, general.strength, general.inpaint_strength)
    path = folder / "latentgraph.json"
    own = read_config(path) if path.is_file() else {}
    steps, guidance = own.get("steps", general.steps), own.get("guidance", general.guidance)
    if type(steps) is not int or not 1 <= steps <= adapter.bounds.steps:
        raise _bad_advice(folder, "steps", steps, f"a whole number from 1 to {adapter.bounds.steps}")
    if type(guidance) not in (int, float) or not 0 <= guidance <= MOST_GUIDANCE:
        raise _bad_advice(folder, "guidance", guidance, f"a number from 0 to {MOST_GUIDANCE}")
    return Defaults(steps, float(guidance), general.strength, general.inpaint_strength)


def _bad_advice(folder: Path, name: str, found: object, takes: str) -> Refused:
    text = f"{folder.name}/latentgraph.json says {name} {json.dumps(found)[:40]}; it takes {takes}"
    return Refused(f"{text}. Correct it or remove the file", port="model", code="out_of_range")
