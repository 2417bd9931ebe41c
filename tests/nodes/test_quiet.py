"""The libraries' own settings come back after a load."""

from __future__ import annotations

import pytest
from diffusers.utils import logging as diffusers_logging
from transformers.utils import logging as transformers_logging

from nodes.quiet import quiet_libraries

LIBRARIES = (diffusers_logging, transformers_logging)


def settings():
    return [(library.get_verbosity(), library.is_progress_bar_enabled()) for library in LIBRARIES]


@pytest.mark.spec("0.5")
def test_settings_come_back_even_after_an_error():
    before = settings()
    with pytest.raises(OSError, match="unreadable"), quiet_libraries(), quiet_libraries():
        assert settings() == [(40, False), (40, False)]
        raise OSError("unreadable")
    assert settings() == before


def test_a_load_writes_nothing(tiny, capfd):
    for recipe in (tiny.text_encoder, tiny.vae, tiny.denoiser):
        recipe.build("cpu")
    assert capfd.readouterr() == ("", "")
