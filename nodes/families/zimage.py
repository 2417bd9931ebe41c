"""Z-Image (Tongyi-MAI): a single-stream transformer on FLUX's latents with a Qwen3 text encoder.

With all levers off, text to image equals the library's ZImagePipeline, image to image its ZImageImg2ImgPipeline and, with a
mask, its ZImageInpaintPipeline bit for bit; the order of operations here is theirs for that reason (diffusers 0.42.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from graph.errors import Refused
from nodes.families.family import Bounds, Component, Conditioning, Defaults, Forward, Schedule, Stack
from nodes.families.loading import ADVICE, load_whole

if TYPE_CHECKING:
    import torch

    from nodes.recipes import Denoiser
    from nodes.values import EmbeddedText, Mask

#: The denoiser pads texts and pictures to a multiple of this with a learned token, which it attends to (spec A4).
SEQUENCE_MULTIPLE: Final = 32

#: One format under the names that releases of the library gave it.
_TOKENIZERS: Final = ("Qwen2Tokenizer", "Qwen2TokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend")

_COMPONENTS: Final = MappingProxyType(
    {
        "tokenizer": Component("tokenizer", "", _TOKENIZERS),
        "text_encoder": Component("text_encoder", "model", ("Qwen3Model", "Qwen3ForCausalLM"), ("lm_head.weight",)),
        "denoiser": Component("transformer", "diffusion_pytorch_model", ("ZImageTransformer2DModel",)),
        "vae": Component("vae", "diffusion_pytorch_model", ("AutoencoderKL",)),
        "scheduler": Component("scheduler", "", ("FlowMatchEulerDiscreteScheduler",)),
    }
)


class ZImage:
    """The adapter. It has no state."""

    name = "z-image"
    pipelines = ("ZImagePipeline", "ZImageImg2ImgPipeline", "ZImageInpaintPipeline")
    components: Mapping[str, Component] = _COMPONENTS
    bounds = Bounds(multiple=16, low=16, high=2048, steps=200, text=512)
    prunable = True

    def defaults(self, name: str) -> Defaults:
        """Turbo models are distilled: few steps, no guidance (spec, Appendix 2). Strengths as the pipelines': 0.6, and 1."""
        return Defaults(9, 0.0, 0.6, 1.0) if "turbo" in name.lower() else Defaults(20, 4.0, 0.6, 1.0)

    def check(self, configs: Mapping[str, Mapping[str, Any]]) -> None:  # Any: the library's JSON
        """Text width and latent channels must agree between the parts."""
        for one, one_key, other, other_key, what in (
            ("denoiser", "cap_feat_dim", "text_encoder", "hidden_size", "wide text"),
            ("denoiser", "in_channels", "vae", "latent_channels", "latent channels"),
        ):
            wanted, given = configs[one].get(one_key), configs[other].get(other_key)
            if wanted != given:
                text = f"the {one} takes {wanted} {what} ({one_key}), the {other} gives {given} ({other_key})"
                raise Refused(f"{text}; use parts of one model", code="parts_do_not_fit")

    def reach(self, config: Mapping[str, Any]) -> tuple[int, int]:  # Any: the library's JSON
        """The position table has one row per text position (the picture stands behind it) and per patch of 16 pixels."""
        found = config.get("axes_lens", (1024, 512, 512))
        if len(found) != 3 or not all(type(side) is int and side > 0 for side in found):
            text = f"transformer/config.json gives axes_lens {str(list(found))[:60]}; it takes three whole numbers above 0"
            raise Refused(f"{text}. Copy the file again", port="model", code="out_of_range")
        texts, rows, columns = found
        longest = (texts - 2) // SEQUENCE_MULTIPLE * SEQUENCE_MULTIPLE
        return min(rows, columns) * 16, min(longest, self.bounds.text)

    def load(self, role: str, folder: Path, dtype: torch.dtype | None) -> Any:  # Any: each role has its own class
        """By the library's own loader, so that the weights' memory lies as in the reference (alignment changes bits).

        Raises ValueError if the weights are not those of the whole model and of nothing else.
        """
        if role == "scheduler":
            from diffusers import FlowMatchEulerDiscreteScheduler

            return FlowMatchEulerDiscreteScheduler.from_pretrained(folder, local_files_only=True)  # type: ignore[no-untyped-call]
        if role == "text_encoder":
            from transformers import Qwen3Model

            model: Any = Qwen3Model
        else:
            from diffusers import AutoencoderKL, ZImageTransformer2DModel

            model = {"denoiser": ZImageTransformer2DModel, "vae": AutoencoderKL}[role]
        return load_whole(model, folder, dtype, self.components[role].extra)

    def tokenize(self, tokenizer: Any, text: str) -> tuple[torch.Tensor, torch.Tensor, bool]:  # Any: see Family
        """One message with thinking on, padded to 512 tokens.

        The words are Qwen3's own template for that, written here: a template of the model's files is a program, and only
        its text enters the model's identity.
        """
        prompt = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
        longest = self.bounds.text
        found = tokenizer([prompt], padding="max_length", max_length=longest, truncation=True, return_tensors="pt")
        # A longer text loses its end; the untruncated count is asked for only if the mask leaves no padding.
        full = bool(found.attention_mask.sum() == longest)
        truncated = full and len(tokenizer(prompt).input_ids) > longest
        return found.input_ids, found.attention_mask, truncated

    def encode(self, encoder: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:  # Any: see Family
        """The hidden states before the last layer. Raises ValueError for a token that the encoder does not know.

        On an accelerator such a token would end the process: its kernels check nothing and say so for ever after.
        """
        known, largest = encoder.get_input_embeddings().num_embeddings, int(ids.max())
        if largest >= known:
            raise ValueError(f"the tokenizer gave token {largest}, the text encoder knows {known}. {ADVICE}")
        output = encoder(input_ids=ids, attention_mask=mask.bool(), output_hidden_states=True)
        hidden: torch.Tensor = output.hidden_states[-2]
        return hidden

    def condition(self, text: EmbeddedText, denoiser: Denoiser, device: str) -> torch.Tensor:
        """The real tokens only: zero rows would count as text. Raises ValueError for none, or more than fit."""
        from nodes.tensors import torch_device

        mask = text.mask.torch().bool()
        hidden = text.hidden.torch()[mask].to(torch_device(device))
        if not 0 < len(hidden) <= denoiser.max_text:
            advice = f"Shorten the prompt; this denoiser takes 1 to {denoiser.max_text} tokens"
            raise ValueError(f"the text embedding has {len(hidden)} real tokens. {advice}")
        return hidden

    def noise_shape(self, net: Any, width: int, height: int) -> tuple[int, int, int, int]:  # Any: see Family
        """Eight pixels a latent, in whole patches of two."""
        return (1, net.in_channels, 2 * (height // 16), 2 * (width // 16))

    def inpaint_mask(self, mask: Mask, width: int, height: int, shape: tuple[int, ...]) -> torch.Tensor:
        """Stretched over the picture, then either or, then every eighth pixel: the library's order, which decides at edges."""
        import numpy as np
        import torch
        from PIL.Image import Resampling

        from nodes.grey import to_grey

        (picture,) = to_grey(mask)
        levels = np.array(picture.resize((width, height), Resampling.LANCZOS), dtype=np.float32) / 255.0
        whole = torch.from_numpy((levels >= 0.5).astype(np.float32))[None, None]
        return torch.nn.functional.interpolate(whole, size=tuple(shape[2:]), mode="nearest")

    def left_out(self, steps: int, strength: float) -> int:
        """As the library's image-to-image pipeline counts."""
        return int(max(steps - min(steps * strength, steps), 0))

    def schedule(self, scheduler: Any, steps: int, shape: tuple[int, ...], strength: float, device: str) -> Schedule:
        """Sigmas from 1 to 1/steps, shifted by the scheduler; `strength` < 1 leaves the first steps out."""
        import torch

        from nodes.tensors import torch_device

        config = scheduler.config
        low, high = config.get("base_image_seq_len", 256), config.get("max_image_seq_len", 4096)
        base, peak = config.get("base_shift", 0.5), config.get("max_shift", 1.15)
        slope = (peak - base) / (high - low)
        mu = (shape[2] // 2) * (shape[3] // 2) * slope + (base - slope * low)
        sigmas = torch.linspace(1.0, 1 / steps, steps).tolist()
        scheduler.set_timesteps(sigmas=sigmas, device=torch_device(device), mu=mu)
        skipped = self.left_out(steps, strength)
        scheduler.set_begin_index(skipped)
        return Schedule(scheduler, scheduler.timesteps[skipped:], skipped)

    def predict(
        self, net: Any, latents: torch.Tensor, timestep: torch.Tensor, text: Conditioning, guidance: float, forward: Forward,
        split_branches: bool,
    ) -> torch.Tensor:  # fmt: skip  # Any: see Family
        """Both branches in one call, as the reference does; time runs from 0 to 1, and the flow comes out negated."""
        import torch

        moment = (1000 - timestep.expand(latents.shape[0])) / 1000
        inputs = latents.to(net.dtype)
        if text.negative is None:
            outputs = forward("positive", _pictures(inputs), moment, text.positive)
            flow = torch.stack([output.float() for output in outputs], dim=0)
            return -flow.squeeze(2)
        if split_branches:
            positive = forward("positive", _pictures(inputs), moment, text.positive)
            negative = forward("negative", _pictures(inputs), moment, text.negative)
        else:
            pictures = _pictures(inputs.repeat(2, 1, 1, 1))
            both = forward("both", pictures, moment.repeat(2), text.positive + text.negative)
            positive, negative = both[: len(inputs)], both[len(inputs) :]
        flow = torch.stack([_guided(p.float(), n.float(), guidance) for p, n in zip(positive, negative, strict=True)], dim=0)
        return -flow.squeeze(2)

    def open_stack(self, net: Any, latents: list[torch.Tensor], timestep: torch.Tensor, captions: list[torch.Tensor]) -> Stack:
        """The transformer's forward in parts: embed and refine both streams, join them, blocks, last layer."""
        from nodes.families.zimage_stack import open_stack

        return open_stack(net, latents, timestep, captions)

    def from_latents(self, vae: Any, samples: torch.Tensor) -> torch.Tensor:  # Any: see Family
        """Divide first, then shift: the other order differs in the last bits."""
        scaled: torch.Tensor = (samples.to(vae.dtype) / vae.config.scaling_factor) + vae.config.shift_factor
        return scaled

    def to_pixels(self, decoded: torch.Tensor) -> torch.Tensor:
        """From -1..1, clamped in the VAE's dtype."""
        return (decoded * 0.5 + 0.5).clamp(0, 1).float()

    def to_vae_input(self, vae: Any, pixels: torch.Tensor) -> torch.Tensor:  # Any: see Family
        """To -1..1, then to the VAE's dtype."""
        return (2.0 * pixels - 1.0).to(vae.dtype)


def _pictures(latents: torch.Tensor) -> list[torch.Tensor]:
    """(B, C, h, w) as the list of (C, 1, h, w) that the transformer takes."""
    return list(latents.unsqueeze(2).unbind(dim=0))


def _guided(positive: torch.Tensor, negative: torch.Tensor, guidance: float) -> torch.Tensor:
    """Guidance 0 is none: the scale here is one less than in most families."""
    return positive + guidance * (positive - negative)
