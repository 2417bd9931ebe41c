"""A random Z-Image of a few kilobytes, in the library's folder layout, and what a plain call of a node needs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from graph.context import Context

torch.set_num_threads(1)

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)


def make_tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    inner.train_from_iterator(["a red circle on a blue ground", "user assistant"] * 4, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<|endoftext|>", eos_token="<|im_end|>", chat_template=CHAT_TEMPLATE,
        model_max_length=4096, padding_side="right",
    )  # fmt: skip


def make_pipeline(seed: int = 0, dtype: torch.dtype = torch.float32):
    """ZImagePipeline with random weights. Pad tokens are not zero, and the VAE has shift and scale."""
    from diffusers import AutoencoderKL, FlowMatchEulerDiscreteScheduler, ZImagePipeline, ZImageTransformer2DModel
    from transformers import Qwen3Config, Qwen3Model

    torch.manual_seed(seed)
    transformer = ZImageTransformer2DModel(
        in_channels=4, dim=48, n_layers=3, n_refiner_layers=1, n_heads=2, n_kv_heads=2, cap_feat_dim=32,
        axes_dims=[8, 8, 8], axes_lens=[640, 64, 64],
    )  # fmt: skip
    with torch.no_grad():
        for parameter in transformer.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.08)
        transformer.t_embedder.mlp[2].weight.mul_(0.1)  # so that neighbouring steps are alike, as in a trained model
        transformer.x_pad_token.normal_()
        transformer.cap_pad_token.normal_()
    vae = AutoencoderKL(
        block_out_channels=(8, 8, 16, 16), down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4, layers_per_block=1, latent_channels=4, norm_num_groups=4,
        sample_size=64, scaling_factor=0.36, shift_factor=0.11, use_quant_conv=False, use_post_quant_conv=False,
        force_upcast=False,
    )  # fmt: skip
    config = Qwen3Config(
        vocab_size=400, hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, max_position_embeddings=1024,
    )  # fmt: skip
    parts = {"transformer": transformer, "vae": vae, "text_encoder": Qwen3Model(config)}
    return ZImagePipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0), tokenizer=make_tokenizer(),
        **{name: part.to(dtype).eval() for name, part in parts.items()},
    )  # fmt: skip


class Recording(Context):
    """A context that remembers what a node told it, and cancels when asked."""

    def __init__(self, home: Path = Path("home"), cancel_at: int | None = None) -> None:
        self.home = home
        self.output_folder = home / "outputs"
        self.steps: list[tuple[int, int]] = []
        self.notes: list[str] = []
        self.previews: list[object] = []
        self.cancel_at = cancel_at

    def progress(self, step, total, preview=None):
        from graph.errors import Cancelled

        self.steps.append((step, total))
        self.previews.append(preview)
        if step == self.cancel_at:
            raise Cancelled

    def note(self, message):
        self.notes.append(message)


@pytest.fixture(scope="session")
def models(tmp_path_factory) -> Path:
    """A folder with the pipelines `tiny` and `tiny_bf16`."""
    root = tmp_path_factory.mktemp("models")
    make_pipeline().save_pretrained(root / "tiny")
    make_pipeline(dtype=torch.bfloat16).save_pretrained(root / "tiny_bf16")
    return root


@pytest.fixture(autouse=True)
def _searched(models, monkeypatch):
    monkeypatch.setenv("LATENTGRAPH_MODELS", str(models))


@pytest.fixture(scope="session")
def references(models):
    """The library's own pipeline of a model, loaded from the folder that our recipes load from."""
    from functools import cache

    from diffusers import ZImagePipeline

    @cache
    def reference(name: str):
        dtype = torch.bfloat16 if name.endswith("bf16") else torch.float32
        pipeline = ZImagePipeline.from_pretrained(models / name, dtype=dtype, local_files_only=True)
        pipeline.set_progress_bar_config(disable=True)
        return pipeline

    return reference


@pytest.fixture
def recording(tmp_path):
    """A context with an empty data folder: `recording()`, `recording(cancel_at=2)`."""
    return lambda **options: Recording(tmp_path / "home", **options)


@pytest.fixture
def call():
    """Call a node's function with a context of one's own: `call(ctx, denoise, ...)`."""
    from graph.node import declaration_of

    return lambda ctx, node, *args, **kwargs: declaration_of(node).call(ctx, *args, **kwargs)


@pytest.fixture
def embed():
    """Tokenize and encode a prompt."""
    from nodes.text import encode_text, tokenize

    return lambda model, prompt: encode_text(model.text_encoder, tokenize(model.tokenizer, prompt))


@pytest.fixture
def tokenizer():
    """A byte-level tokenizer with a chat template."""
    return make_tokenizer()


@pytest.fixture
def tiny():
    """The recipes of the tiny float32 model."""
    from nodes.load import load_pipeline

    return load_pipeline("tiny")
