"""What plans, and what saves a remembered picture, imports neither torch nor the model libraries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

BLOCKER = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "diffusers", "transformers", "tokenizers", "safetensors", "accelerate", "torchao"):
            raise ImportError(f"{name} is blocked here")
sys.meta_path.insert(0, Blocked())
"""


def run(code, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-c", BLOCKER + code, *map(str, arguments)],
        capture_output=True, text=True, env={**os.environ, **environment}, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_node_module_is_declared_without_torch():
    code = """
from graph.registry import Registry
from nodes.builtin import MODULES
import nodes.runtime, nodes.recipes, nodes.values, nodes.sampling.options, nodes.families, nodes.weights, nodes.models
import json
specs = Registry.load(MODULES, packs=False).specs
print(json.dumps({id: spec.light for id, spec in specs.items()}))
"""
    light = json.loads(run(code))
    assert {id for id, is_light in light.items() if is_light} == {
        "load_pipeline", "load_curve", "empty_latents", "fb_cache", "mag_cache", "number", "integer", "boolean", "text", "seed", "size",
        "switch", "texts", "numbers", "integers", "seeds", "make_list", "xy_grid",
    }  # fmt: skip


def test_a_model_is_planned_without_torch(models):
    code = """
from graph.node import declaration_of
from nodes.denoise import denoise, fb_cache
from nodes.latents import empty_latents
from nodes.load import load_pipeline
model = load_pipeline("tiny")
known = {"denoiser": model.denoiser, "latents": empty_latents(64, 64), "steps": None, "step_cache": fb_cache("fast"), "mask": None}
filled = declaration_of(denoise).resolve(known)
print(model.denoiser.dtype, filled["steps"], filled["step_cache"].threshold)
"""
    assert run(code, LATENTGRAPH_MODELS=str(models)).split() == ["float32", "20", "0.12"]


def test_a_stored_picture_is_resized_laid_out_and_saved_without_torch(tmp_path):
    code = """
import sys
from pathlib import Path
from graph.context import Context
from graph.node import declaration_of
from graph.types import Packed, TensorBytes
from nodes.image import image_grid, resize_image
from nodes.runtime import DeviceRuntime
from nodes.save import save_image
from nodes.values import Image
stored = TensorBytes("F32", (1, 3, 64, 96), memoryview(bytes(4 * 3 * 64 * 96)))
image = Image.read(Packed("Image", {}, {"pixels": stored}))
assert image.to("cpu") is image and image.version == 0
sheet = image_grid([resize_image(image, width=48), image])
ctx = Context()
ctx.output_folder = Path(sys.argv[1])
print(DeviceRuntime("host", 1).call(declaration_of(save_image).call, ctx, {"image": sheet, "name": "grid"}))
assert "torch" not in sys.modules
"""
    name = run(code, tmp_path).strip()
    assert (tmp_path / name).stat().st_size > 100
