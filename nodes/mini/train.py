"""Trains mini from nothing: `python -m nodes.mini.train WORK` writes a diffusers pipeline folder to WORK/export.

Beside it comes WORK/heldout.json, the captions to measure it with.

Stages, each resumed from its checkpoint in WORK: the tokenizer, the autoencoder, its decoder alone on the latents that
are then fixed, and the text encoder with the transformer. One core of a CPU is enough (CARD.md has the times).
"""

from __future__ import annotations

import argparse
import math
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import torch
from diffusers.models.autoencoders.autoencoder_kl import AutoencoderKL
from diffusers.pipelines.z_image.pipeline_z_image import ZImagePipeline
from torch import Tensor, nn
from torch.nn.functional import l1_loss, mse_loss
from torch.optim.swa_utils import AveragedModel
from transformers import PreTrainedTokenizerBase

from nodes.mini import models
from nodes.mini.data import Scene, cases, draw, split, training_caption
from nodes.mini.fidelity import measure, stock_render, write_held_out
from nodes.mini.tokens import train_tokenizer

WORK: Final = Path(".latentgraph/mini")
SEED: Final = 1


class Plan(NamedTuple):
    """How long and how fast one stage is trained."""

    steps: int
    decay_steps: int
    """The last steps, over which the learning rate falls; before them it is flat, so `steps` can still be changed."""
    batch: int
    peak_rate: float
    averaging: float
    """Decay of the moving average of the weights that is kept at the end; 0 keeps the last ones."""


VAE_PLAN: Final = Plan(steps=4000, decay_steps=4000, batch=16, peak_rate=1.5e-3, averaging=0.0)
DENOISER_PLAN: Final = Plan(steps=10800, decay_steps=3000, batch=32, peak_rate=1.5e-3, averaging=0.999)
DECODER_PLAN: Final = Plan(steps=2500, decay_steps=2500, batch=16, peak_rate=1e-3, averaging=0.99)

WARMUP_STEPS: Final = 100
SAVE_EVERY: Final = 500
KL_WEIGHT: Final = 2e-4
DRAWINGS_PER_SCENE: Final = 12
EMPTY_CAPTIONS: Final = 0.1
"""Share of captions left empty, so that the empty prompt of classifier-free guidance is a known one."""
LATENT_ERROR: Final = 0.1
"""Noise on the latents while the decoder is finished, in standard deviations of the latents: a guess at what sampling leaves."""

Loss = Callable[[int], Tensor]
"""The loss of a step; it draws all its randomness from the number of the step, so a resumed run repeats it."""


def fit(module: nn.Module, loss: Loss, plan: Plan, path: Path, report: Callable[[nn.Module, int], None]) -> None:
    """Trains `module` in place to the end of its plan, from the checkpoint at `path` if there is one."""
    average = AveragedModel(module, avg_fn=lambda kept, now, count: kept + (now - kept) * _share(plan, int(count)))
    optimiser = torch.optim.AdamW(
        [weight for weight in module.parameters() if weight.requires_grad], betas=(0.9, 0.99), weight_decay=1e-4
    )
    first = _resume(path, module, average, optimiser)
    for step in range(first, plan.steps):
        for group in optimiser.param_groups:
            group["lr"] = _rate(plan, step)
        value = loss(step)
        optimiser.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]  # torch has no type for it
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimiser.step()
        average.update_parameters(module)
        if step % 100 == 0:
            print(f"{path.stem} step {step} loss {value.item():.4f} {time.strftime('%H:%M:%S')}", flush=True)
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == plan.steps:
            _save(path, step + 1, module, average, optimiser)
            report(average.module, step + 1)
    module.load_state_dict(average.module.state_dict())


def _share(plan: Plan, count: int) -> float:
    """How much of the new weights goes into the average; more at first, when the average is of little worth."""
    return 1 - min(plan.averaging, (1 + count) / (10 + count))


def _rate(plan: Plan, step: int) -> float:
    """Linear warm-up, flat, and at the end half a cosine down to a fiftieth of the peak."""
    fallen = max(0.0, 1 - (plan.steps - step) / plan.decay_steps)
    cosine = 0.5 * (1 + math.cos(math.pi * fallen))
    return plan.peak_rate * min(1.0, (step + 1) / WARMUP_STEPS) * (0.02 + 0.98 * cosine)


def _resume(path: Path, module: nn.Module, average: AveragedModel, optimiser: torch.optim.Optimizer) -> int:
    if not path.exists():
        return 0
    state = torch.load(path, weights_only=True)
    module.load_state_dict(state["module"])
    average.load_state_dict(state["average"])
    optimiser.load_state_dict(state["optimiser"])
    return int(state["step"])


def _save(path: Path, step: int, module: nn.Module, average: AveragedModel, optimiser: torch.optim.Optimizer) -> None:
    state = {
        "step": step,
        "module": module.state_dict(),
        "average": average.state_dict(),
        "optimiser": optimiser.state_dict(),
    }
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    partial.replace(path)


def draw_batch(scenes: Sequence[Scene], rng: np.random.Generator) -> Tensor:
    """Fresh drawings of the scenes, (B, 3, 64, 64), -1 to 1."""
    drawn = np.stack([draw(scene, rng) for scene in scenes])
    return torch.from_numpy(drawn).permute(0, 3, 1, 2).float() / 127.5 - 1


def picture_loss(made: Tensor, true: Tensor) -> Tensor:
    """Mean absolute error of the pixels and of their differences to the right and below, which keeps edges sharp."""
    across, down = (l1_loss(made.diff(dim=axis), true.diff(dim=axis)) for axis in (3, 2))
    return l1_loss(made, true) + across + down


def train_vae(vae: AutoencoderKL, work: Path) -> None:
    """Trains encoder and decoder together; bfloat16 autocast is a third faster here than float32 (measured)."""
    scenes = split().train

    def loss(step: int) -> Tensor:
        rng, generator = np.random.default_rng((SEED, step)), torch.Generator().manual_seed(step)
        true = draw_batch([scenes[index] for index in rng.integers(len(scenes), size=VAE_PLAN.batch)], rng)
        with torch.autocast("cpu", torch.bfloat16):
            posterior = vae.encode(true).latent_dist
            made = vae.decode(posterior.sample(generator).to(torch.bfloat16)).sample
        mean, log_variance = posterior.mean.float(), posterior.logvar.float()
        divergence: Tensor = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).mean()
        return picture_loss(made.float(), true) + KL_WEIGHT * divergence

    fit(vae, loss, VAE_PLAN, work / "vae.pt", lambda _module, _step: None)


class Drawings(NamedTuple):
    """The training pictures, drawn once; row i of both shows the same picture of scene i % len(scenes)."""

    pictures: Tensor
    """(N, 3, 64, 64), uint8."""
    latents: Tensor
    """(N, 16, 8, 8), float, zero mean and unit variance."""


@torch.no_grad()
def encode_drawings(vae: AutoencoderKL) -> Drawings:
    """Draws and encodes the training set, and sets the autoencoder's shift and scale from what it measures."""
    rng = np.random.default_rng(SEED)
    scenes = split().train * DRAWINGS_PER_SCENE
    batches = [draw_batch(scenes[first : first + 50], rng) for first in range(0, len(scenes), 50)]
    latents = torch.cat([vae.encode(batch).latent_dist.mean for batch in batches])
    shift, scale = latents.mean().item(), 1 / latents.std().item()
    vae.register_to_config(shift_factor=shift, scaling_factor=scale)  # type: ignore[no-untyped-call]  # it has no annotations
    pictures = torch.cat([((batch + 1) * 127.5).round().to(torch.uint8) for batch in batches])
    return Drawings(pictures, (latents - shift) * scale)


def train_decoder(vae: AutoencoderKL, drawings: Drawings, work: Path) -> None:
    """Finishes the decoder alone, on fixed latents with a little noise, so that it forgives errors of sampling."""
    vae.encoder.requires_grad_(False)

    def loss(step: int) -> Tensor:
        rng, generator = np.random.default_rng((SEED, step)), torch.Generator().manual_seed(step)
        rows = torch.from_numpy(rng.integers(len(drawings.latents), size=DECODER_PLAN.batch))
        true, clean = drawings.pictures[rows].float() / 127.5 - 1, drawings.latents[rows]
        noisy = clean + LATENT_ERROR * torch.randn(clean.shape, generator=generator)
        with torch.autocast("cpu", torch.bfloat16):
            made = vae.decode(noisy / vae.config["scaling_factor"] + vae.config["shift_factor"]).sample
        return picture_loss(made.float(), true)

    fit(vae, loss, DECODER_PLAN, work / "decoder.pt", lambda _module, _step: None)


class Denoiser(nn.Module):
    """The text encoder and the transformer as one module, called as the pipeline calls them."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.text_encoder = models.build_text_encoder(len(tokenizer))
        self.transformer = models.build_transformer()

    def forward(self, latents: Tensor, sigmas: Tensor, prompts: Sequence[str]) -> Tensor:
        """The velocity from picture to noise, (B, 16, H/8, W/8); the transformer gives its negative, from 1 - sigma."""
        made = self.transformer(list(latents.unsqueeze(2)), 1 - sigmas, self.encode(prompts), return_dict=False)[0]
        return -torch.stack(made).squeeze(2)

    def encode(self, prompts: Sequence[str]) -> list[Tensor]:
        """The hidden states of each prompt's own tokens, (L_i, D); padding is cut off, as in the pipeline."""
        texts = [
            self.tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True, enable_thinking=True
            )
            for prompt in prompts
        ]
        tokens = self.tokenizer(texts, padding=True, return_tensors="pt")
        mask = tokens.attention_mask.bool()
        states = self.text_encoder(input_ids=tokens.input_ids, attention_mask=mask, output_hidden_states=True)
        return [state[real] for state, real in zip(states.hidden_states[-2], mask, strict=True)]


def train_denoiser(denoiser: Denoiser, latents: Tensor, vae: AutoencoderKL, work: Path) -> None:
    """Trains text encoder and transformer together by flow matching (Lipman et al. 2023, arXiv:2210.02747, eq. 23)."""
    scenes = split().train

    def loss(step: int) -> Tensor:
        rng, generator = np.random.default_rng((SEED, step)), torch.Generator().manual_seed(step)
        rows = rng.integers(len(latents), size=DENOISER_PLAN.batch)
        captions = [training_caption(scenes[row % len(scenes)], rng) for row in rows]
        prompts = ["" if rng.random() < EMPTY_CAPTIONS else caption for caption in captions]
        clean = latents[torch.from_numpy(rows)]
        noise = torch.randn(clean.shape, generator=generator)
        sigmas = _shifted(torch.rand(len(rows), generator=generator))
        mixed = torch.lerp(clean, noise, sigmas[:, None, None, None])
        return mse_loss(denoiser(mixed, sigmas, prompts), noise - clean)

    def report(averaged: nn.Module, step: int) -> None:
        assert isinstance(averaged, Denoiser)
        pipeline = assemble(averaged, vae)
        export(pipeline, work / "export")
        if step % 1000 == 0:
            print(f"step {step}, validation:\n{measure(stock_render(pipeline), cases(split().validation))}", flush=True)

    fit(denoiser, loss, DENOISER_PLAN, work / "denoiser.pt", report)


def _shifted(sigmas: Tensor) -> Tensor:
    """The scheduler's static shift, so that training visits the noise levels as often as sampling does."""
    return models.SHIFT * sigmas / (1 + (models.SHIFT - 1) * sigmas)


def assemble(denoiser: Denoiser, vae: AutoencoderKL) -> ZImagePipeline:
    """The stock pipeline around these weights, silent."""
    pipeline = ZImagePipeline(
        scheduler=models.build_scheduler(),  # type: ignore[arg-type]  # diffusers annotates the stub of its lazy import
        vae=vae,
        text_encoder=denoiser.text_encoder,
        tokenizer=denoiser.tokenizer,  # type: ignore[arg-type]  # diffusers annotates the factory, not what it makes
        transformer=denoiser.transformer,
    )
    pipeline.set_progress_bar_config(disable=True)  # type: ignore[no-untyped-call]  # it has no annotations
    return pipeline


def export(pipeline: ZImagePipeline, target: Path) -> None:
    """Writes the pipeline folder beside its place and then swaps it in, so that a reader never sees half of one."""
    partial, old = target.with_suffix(".partial"), target.with_suffix(".old")
    pipeline.save_pretrained(partial)
    if target.exists():
        target.rename(old)
    partial.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def main() -> None:
    """Runs every stage that WORK does not have yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, nargs="?", default=WORK, help="folder for checkpoints and the export (%(default)s)")
    work: Path = parser.parse_args().work
    work.mkdir(parents=True, exist_ok=True)
    write_held_out(cases(split().test), work / "heldout.json")
    torch.manual_seed(0)
    vae, denoiser = models.build_vae(), Denoiser(train_tokenizer(SEED))
    train_vae(vae, work)
    drawings = encode_drawings(vae)
    train_decoder(vae, drawings, work)
    train_denoiser(denoiser, drawings.latents, vae, work)
    export(assemble(denoiser, vae), work / "export")


if __name__ == "__main__":
    main()
