"""The five components of mini, untrained: small copies of what Z-Image is made of, with its conventions.

Knows sizes and configurations only; `train.py` gives them weights.
"""

from __future__ import annotations

from typing import Final

from diffusers.models.autoencoders.autoencoder_kl import AutoencoderKL
from diffusers.models.transformers.transformer_z_image import ZImageTransformer2DModel
from diffusers.schedulers.scheduling_flow_match_euler_discrete import FlowMatchEulerDiscreteScheduler
from torch import nn
from transformers import Qwen3Config, Qwen3Model

from nodes.mini.data import SIDE_PX

LATENT_CHANNELS: Final = 16
WIDTH: Final = 128
HEADS: Final = 4
SHIFT: Final = 4.0
"""Static shift of the noise levels, in training and in the scheduler. Plain areas show through much noise, so what goes
where is decided above sigma 0.95. Measured: logit-normal levels with shift 2, of which one in eighty is there, taught the
background alone in 2,500 steps."""


def build_vae() -> AutoencoderKL:
    """An autoencoder from (B, 3, H, W) in [-1, 1] to (B, 16, H/8, W/8)."""
    vae: AutoencoderKL = AutoencoderKL(
        block_out_channels=(16, 32, 32, 64),
        down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4,
        layers_per_block=1,
        latent_channels=LATENT_CHANNELS,
        norm_num_groups=1,  # with 8, plain colours get lost: L1 0.26 against 0.10 after 350 steps
        mid_block_add_attention=False,
        use_quant_conv=False,
        use_post_quant_conv=False,
        force_upcast=False,
        sample_size=SIDE_PX,
    )
    return vae


def build_transformer() -> ZImageTransformer2DModel:
    """A velocity model; pictures to 256x256 and captions to 512 tokens stay inside `axes_lens`."""
    transformer: ZImageTransformer2DModel = ZImageTransformer2DModel(
        in_channels=LATENT_CHANNELS,
        dim=WIDTH,
        n_layers=4,
        n_refiner_layers=1,
        n_heads=HEADS,
        n_kv_heads=HEADS,
        cap_feat_dim=WIDTH,
        axes_dims=[8, 12, 12],
        axes_lens=[1024, 64, 64],
    )
    for padding in (transformer.x_pad_token, transformer.cap_pad_token):
        nn.init.normal_(padding, std=0.02)  # diffusers leaves them uninitialised
    return transformer


def build_text_encoder(vocabulary: int) -> Qwen3Model:
    """A Qwen3 of three layers. `hidden_states[-2]` leaves before the last one, which therefore stays untrained."""
    return Qwen3Model(
        Qwen3Config(
            vocab_size=vocabulary,
            hidden_size=WIDTH,
            intermediate_size=2 * WIDTH,
            num_hidden_layers=3,
            num_attention_heads=HEADS,
            num_key_value_heads=HEADS // 2,
            head_dim=WIDTH // HEADS,
            max_position_embeddings=1024,
        )
    )


def build_scheduler() -> FlowMatchEulerDiscreteScheduler:
    """Flow matching with a static shift, as Z-Image Turbo has."""
    scheduler: FlowMatchEulerDiscreteScheduler = FlowMatchEulerDiscreteScheduler(shift=SHIFT)
    return scheduler
