"""The shipped tokenizer takes any text and speaks the chat template the pipeline asks for."""

from __future__ import annotations

from typing import Any  # for the keywords of a template, which are its own

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from nodes.mini.defaults import WEIGHTS
from nodes.mini.tokens import train_tokenizer
from nodes.mini.train import SEED

PROMPT = [{"role": "user", "content": "a large red circle"}]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    """The tokenizer as any caller loads it."""
    loaded: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(WEIGHTS / "tokenizer")
    return loaded


@pytest.mark.parametrize("text", ["", "a large red circle", "  two\n\tlines ", "naïve Ελλάδα 日本語 🎉👩‍🚀", "\x00\x7f"])
def test_any_text_survives_the_round_trip(tokenizer: PreTrainedTokenizerBase, text: str) -> None:
    assert tokenizer.decode(tokenizer(text).input_ids) == text


def test_the_vocabulary_is_small(tokenizer: PreTrainedTokenizerBase) -> None:
    assert len(tokenizer) <= 1024


@pytest.mark.parametrize(
    ("options", "ending"),
    [
        ({}, "<|im_end|>\n"),
        ({"add_generation_prompt": True}, "<|im_start|>assistant\n"),
        ({"add_generation_prompt": True, "enable_thinking": True}, "<|im_start|>assistant\n"),
        ({"add_generation_prompt": True, "enable_thinking": False}, "assistant\n<think>\n\n</think>\n\n"),
    ],
)
def test_the_chat_template_follows_its_options(tokenizer: PreTrainedTokenizerBase, options: dict[str, Any], ending: str) -> None:
    text = tokenizer.apply_chat_template(PROMPT, tokenize=False, **options)
    assert isinstance(text, str)
    assert text.startswith("<|im_start|>user\na large red circle<|im_end|>\n")
    assert text.endswith(ending)


def test_special_tokens_are_one_token_each(tokenizer: PreTrainedTokenizerBase) -> None:
    text = "<|im_start|>user\n<|im_end|><|endoftext|><think></think>"
    tokens = tokenizer.convert_ids_to_tokens(tokenizer(text).input_ids)
    assert tokens == ["<|im_start|>", "user", "Ċ", "<|im_end|>", "<|endoftext|>", "<think>", "</think>"]


@pytest.mark.slow
def test_training_gives_the_shipped_tokenizer(tokenizer: PreTrainedTokenizerBase) -> None:
    assert train_tokenizer(SEED).get_vocab() == tokenizer.get_vocab()
