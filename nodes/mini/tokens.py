"""mini's tokenizer: byte-level BPE in the Qwen2 format, its merges learned from the captions.

Every text has tokens, for all 256 bytes are in the vocabulary; words outside the captions just take more of them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from transformers import PreTrainedTokenizerBase, Qwen2Tokenizer

from nodes.mini.data import split, training_caption

VOCABULARY: Final = 512
CAPTIONS: Final = 4000
MAX_TOKENS: Final = 1024

SPECIAL_TOKENS: Final = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")

CHAT_TEMPLATE: Final = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}"
    "<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
    "{% endif %}"
)
"""Qwen3's template without tools; thinking switched off is an empty thought, as there."""


def train_tokenizer(seed: int) -> PreTrainedTokenizerBase:
    """A tokenizer trained on captions of training scenes and the two role names of the chat template."""
    rng = np.random.default_rng(seed)
    scenes = split().train
    captions = [training_caption(scenes[index], rng) for index in rng.integers(len(scenes), size=CAPTIONS)]
    roles = ["user\n", "assistant\n", "system\n"] * CAPTIONS
    tokenizer: PreTrainedTokenizerBase = Qwen2Tokenizer().train_new_from_iterator(  # type: ignore[no-untyped-call]  # it has no annotations
        [captions, roles], vocab_size=VOCABULARY, new_special_tokens=list(SPECIAL_TOKENS)
    )
    tokenizer.model_max_length = MAX_TOKENS
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer
