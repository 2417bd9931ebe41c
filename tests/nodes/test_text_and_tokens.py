"""From prompts to embeddings, and what may be left out of them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from graph.errors import Refused
from graph.types import encode
from nodes.denoise import denoise
from nodes.latents import empty_latents
from nodes.pool import exclusively
from nodes.tensors import WireTensor
from nodes.text import encode_text, tokenize
from nodes.tokens import pad_tokens, prune_tokens
from nodes.values import EmbeddedText, TextEmbedding, Tokens


def embedding(mask, width=3, length=None, prunable=True):
    """An embedding with this mask and random hidden states, padding rows included."""
    count = len(mask)
    hidden = torch.randn(count, width, generator=torch.Generator().manual_seed(count))
    text = EmbeddedText(WireTensor.of(hidden), WireTensor.of(torch.arange(100, 100 + count)), WireTensor.of(torch.tensor(mask)))
    return TextEmbedding((text,), length or count, "z-image", prunable)


def only(value):
    (text,) = value.texts
    return text.hidden.torch(), text.ids.torch(), text.mask.torch()


def stored_bytes(value):
    return sum(tensor.data.nbytes for tensor in encode(value).tensors.values())


LAYOUTS = {
    "trailing": [1, 1, 1, 0, 0, 0],
    "expanded": [1, 1, 1, 1, 0, 0],  # Chroma keeps one masked position: the mask says so before pruning
    "middle": [1, 1, 0, 0, 1, 1],
    "left": [0, 0, 0, 1, 1, 1],
    "none": [1, 1, 1, 1, 1, 1],
}


@pytest.mark.spec("A1", "A2", "A3", "A6")
@pytest.mark.parametrize("mask", LAYOUTS.values(), ids=LAYOUTS)
def test_pruning_and_padding_restore_every_real_position(mask):
    whole = embedding(mask)
    again = pad_tokens(prune_tokens(whole))
    real = torch.tensor(mask).bool()
    for before, after in zip(only(whole), only(again), strict=True):
        assert torch.equal(after[real], before[real])
        assert torch.equal(after[~real], torch.zeros_like(after[~real]))
        assert after.dtype == before.dtype
        assert after.shape == before.shape


@pytest.mark.spec("A1")
@pytest.mark.parametrize("real", [3, 17, 60])
def test_a_pruned_embedding_takes_the_room_of_its_real_tokens(real):
    whole = embedding([1] * real + [0] * (64 - real), width=32)
    pruned = prune_tokens(whole)
    assert {len(part) for part in only(pruned)} == {real}
    assert stored_bytes(pruned) == stored_bytes(whole) * real / 64


@pytest.mark.spec("A1", "A3")
def test_pruning_a_pruned_embedding_changes_nothing():
    once = prune_tokens(embedding(LAYOUTS["middle"]))
    assert encode(prune_tokens(once)) == encode(once)
    assert encode(prune_tokens(pad_tokens(once))) == encode(once)


@pytest.mark.spec("A2")
def test_padding_goes_to_the_length_asked_for():
    assert [len(part) for part in only(pad_tokens(prune_tokens(embedding(LAYOUTS["trailing"])), length=4))] == [4, 4, 4]


@pytest.mark.spec("A2")
@pytest.mark.parametrize(("layout", "needs"), [("trailing", 3), ("left", 6)])
def test_a_text_longer_than_the_length_is_an_error(layout, needs):
    with pytest.raises(ValueError, match=f"a text of {needs} tokens does not fit into length 2; set length to at least {needs}"):
        pad_tokens(prune_tokens(embedding(LAYOUTS[layout])), length=2)


@pytest.mark.spec("A7")
def test_an_embedding_stored_whole_passes_through_padding():
    whole = embedding(LAYOUTS["trailing"])
    assert encode(pad_tokens(whole)) == encode(whole)


@pytest.mark.spec("A5")
def test_a_family_that_reads_padding_is_not_pruned():
    with pytest.raises(ValueError, match="the denoiser of z-image reads padding, so it cannot be pruned"):
        prune_tokens(embedding(LAYOUTS["trailing"], prunable=False))


@pytest.fixture
def render(tiny, embed):
    """Final latents for a positive embedding."""
    negative = embed(tiny, "")

    def render(positive, negative=negative):
        call = {"negative": negative, "steps": 2, "guidance": 2.0, "seed": 1}
        sampled = denoise(tiny.denoiser, tiny.scheduler, positive, empty_latents(64, 64), **call)
        return sampled.latents.samples.torch()

    return render


@pytest.mark.spec("A3", "A4")
def test_whole_pruned_and_padded_text_give_the_same_picture(tiny, embed, render):
    whole = embed(tiny, "a red circle on a blue ground")
    pruned = prune_tokens(whole)
    expected = render(whole)
    assert torch.equal(render(pruned), expected)
    assert torch.equal(render(pad_tokens(pruned)), expected)
    assert torch.equal(render(prune_tokens(pad_tokens(pruned, length=200))), expected)


@pytest.mark.spec("A4")
def test_padding_told_as_real_text_changes_the_picture(tiny, embed, render):
    pruned = prune_tokens(embed(tiny, "a red circle"))
    (text,) = pruned.texts
    padded = pad_tokens(pruned, length=text.length + 9).texts[0]
    lying = EmbeddedText(padded.hidden, padded.ids, WireTensor.of(torch.ones(padded.length, dtype=torch.int64)))
    assert (render(TextEmbedding((lying,), padded.length, "z-image", True)) - render(pruned)).abs().max() > 0.01


@pytest.mark.spec("A6")
@pytest.mark.parametrize("layout", ["middle", "left"])
def test_text_out_of_place_is_told_to_the_denoiser_by_its_mask(tiny, render, layout):
    mask = LAYOUTS[layout]
    odd = embedding(mask, width=32)
    plain = EmbeddedText(*(WireTensor.of(part[torch.tensor(mask).bool()]) for part in only(odd)))
    expected = render(TextEmbedding((plain,), plain.length, "z-image", True))
    assert torch.equal(render(odd), expected)
    assert torch.equal(render(prune_tokens(odd)), expected)


@pytest.mark.spec("A14")
@pytest.mark.parametrize("prompt", ["", "   ", "\n", "圆 🔴 Ä́", "<|im_end|>"])
def test_odd_prompts_give_a_short_real_text(tiny, embed, prompt):
    (text,) = prune_tokens(embed(tiny, prompt)).texts
    assert 0 < text.length < 60
    assert text.hidden.torch().isfinite().all()


@pytest.mark.spec("A14")
def test_a_prompt_too_long_loses_its_end_and_says_so(tiny, recording, call):
    ctx = recording()
    tokens = call(ctx, tokenize, tiny.tokenizer, "a red circle " * 200)
    assert tokens.mask.torch().sum() == 512
    assert ctx.notes == ["The prompt is longer than the 512 tokens this model reads; its end was left out."]


@pytest.mark.spec("A14")
def test_a_prompt_that_just_fits_is_not_called_too_long(tiny, recording, call):
    ctx = recording()
    words = next(n for n in range(512, 0, -1) if call(recording(), tokenize, tiny.tokenizer, "#" * n).mask.torch().sum() < 512)
    assert call(ctx, tokenize, tiny.tokenizer, "#" * (words + 1)).mask.torch().sum() == 512
    assert ctx.notes == []


@pytest.mark.spec("A14")
def test_text_without_a_real_token_never_reaches_the_denoiser(render):
    with pytest.raises(
        ValueError, match=r"the text embedding has 0 real tokens. Shorten the prompt; this denoiser takes 1 to 512"
    ):
        render(embedding([0, 0, 0], width=32))


def test_tokens_equal_what_the_library_makes(references, tiny):
    tokens = tokenize(tiny.tokenizer, "a red circle")
    pipeline = references("tiny")
    expected = pipeline.encode_prompt("a red circle", do_classifier_free_guidance=False)[0][0]
    (text,) = prune_tokens(encode_text(tiny.text_encoder, tokens)).texts
    assert torch.equal(text.hidden.torch(), expected)


def test_tokens_of_another_family_are_refused(tiny):
    tokens = tokenize(tiny.tokenizer, "x")
    with pytest.raises(Refused, match="the tokens were made for flux, the text encoder belongs to z-image"):
        encode_text(tiny.text_encoder, Tokens(tokens.ids, tokens.mask, "flux"))


@pytest.mark.spec("A12")
def test_threads_share_one_tokenizer_and_encoder_as_if_alone(tiny):
    from nodes.pool import Pool

    prompts = [f"{'word ' * (n % 7)}{n}" for n in range(40)]
    pool = Pool("cpu", 2**30)

    class Shared:
        device = "cpu"
        borrow = pool.borrow
        note = print

    from graph.node import declaration_of

    make_tokens, encode_tokens = declaration_of(tokenize).call, declaration_of(encode_text).call

    def work(prompt):
        tokens = make_tokens(Shared(), tiny.tokenizer, prompt)
        return tokens.ids.torch(), encode_tokens(Shared(), tiny.text_encoder, tokens).texts[0].hidden.torch()

    alone = [work(prompt) for prompt in prompts[:8]]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(work, prompts))
    assert len(pool.resident()) == 2
    for prompt, (ids, hidden) in zip(prompts[:8], together, strict=False):
        expected_ids, expected_hidden = alone[prompts.index(prompt)]
        assert torch.equal(ids, expected_ids)
        assert torch.equal(hidden, expected_hidden)
    assert len({tuple(ids[0].tolist()) for ids, _ in together}) == len(prompts)


@pytest.mark.spec("A12")
@pytest.mark.parametrize("role", ["tokenizer", "text_encoder"])
def test_the_nodes_enter_a_live_object_one_at_a_time(tiny, monkeypatch, role):
    """Two threads that would meet inside the adapter's call, if nothing kept them apart."""
    from graph.node import declaration_of
    from nodes.families.zimage import ZImage
    from nodes.pool import Pool

    pool = Pool("cpu", 2**30)
    name = {"tokenizer": "tokenize", "text_encoder": "encode"}[role]
    inner, inside, met = getattr(ZImage, name), [], []

    def watched(self, live, *rest):
        inside.append(live)
        met.append(inside.count(live))
        met_another.wait(0.05)  # time for a second thread to come in, if it can
        try:
            return inner(self, live, *rest)
        finally:
            inside.remove(live)

    met_another = threading.Event()
    monkeypatch.setattr(ZImage, name, watched)

    class Shared:
        device = "cpu"
        borrow = pool.borrow
        note = print

    def work(prompt):
        tokens = declaration_of(tokenize).call(Shared(), tiny.tokenizer, prompt)
        return declaration_of(encode_text).call(Shared(), tiny.text_encoder, tokens)

    with ThreadPoolExecutor(3) as threads:
        assert len(list(threads.map(work, ["a", "b", "c"]))) == 3
    assert met == [1, 1, 1]


@pytest.mark.spec("A12")
def test_one_object_at_a_time_different_objects_at_once():
    class Live:
        pass

    one, other = Live(), Live()
    met = threading.Barrier(2, timeout=5)

    def meet(live):
        with exclusively(live), exclusively(live):
            met.wait()

    threads = [threading.Thread(target=meet, args=(live,)) for live in (one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not met.broken

    inside: list[int] = []

    def alone(number):
        with exclusively(one):
            inside.append(number)
            assert inside == [number]
            inside.remove(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(alone, range(200)))


@pytest.mark.spec("A9")
def test_a_batch_has_a_mask_only_where_its_texts_end_in_different_blocks(tiny, render, monkeypatch):
    """The batch is that of guidance. The library cuts it to its longest text, in blocks of 32; we hand it pruned texts."""
    from diffusers.models.transformers.transformer_z_image import ZImageTransformerBlock

    masks = []
    inner = ZImageTransformerBlock.forward

    def forward(self, x, attn_mask, *args, **kwargs):
        masks.append(None if attn_mask is None else tuple(attn_mask.shape))
        return inner(self, x, attn_mask, *args, **kwargs)

    monkeypatch.setattr(ZImageTransformerBlock, "forward", forward)

    def drawn(positive, negative):
        masks.clear()
        return render(embedding([1] * positive, 32), prune_tokens(embedding([1] * negative + [0] * 200, 32)))

    drawn(20, 20)
    assert set(masks) == {None}
    drawn(20, 27)
    assert set(masks) == {None}
    drawn(40, 20)
    lengths = {shape[-1] for shape in masks if shape is not None}
    assert lengths
    assert all(length % 16 == 0 and length < 200 for length in lengths)
