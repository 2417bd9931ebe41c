"""Names that are fit for files, and names as they are shown."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from server.library.names import FileId, OutputId, content_disposition, is_file_id, is_fit_id, is_fit_name, shown_name

ATTACKS = [
    "../x",
    "..%2fx",
    "%252e",
    "..\\x",
    "/x",
    "//x",
    "C:\\x",
    "\\\\srv\\x",
    "file://x",
    "~",
    "$HOME",
    "a\0b",
    "a" * 300,
    "",
]


@pytest.mark.spec("L3", "R-P01")
@pytest.mark.parametrize(
    "name", [*ATTACKS, "x.", "x ", ".x", "-rf", "a..b", "CON", "nul.png", "COM¹", "com1.json", "a:b", "a\nb", "é"]
)
def test_an_unfit_name_is_known(name):
    assert not is_fit_name(name)


@pytest.mark.parametrize("name", ["a", "My workflow 2.1", "portrait_v2-final", "console", "x" * 128])
def test_a_fit_name_is_known(name):
    assert is_fit_name(name)


@pytest.mark.spec("J5")
@pytest.mark.parametrize("name", [*ATTACKS, "a.png", "a b", "é", "\uff11", "a\n", "a" * 129])
def test_an_unfit_output_id_is_known(name):
    assert not is_fit_id(name)
    with pytest.raises(ValidationError):
        TypeAdapter(OutputId).validate_python(name)


@pytest.mark.spec("R-P05")
@given(
    st.text()
    | st.text("0123456789abcdefABCDEF\u0660\u0967", min_size=63, max_size=65)
    | st.from_regex(r"[0-9a-f]{64}\n?", fullmatch=True)
)
def test_a_file_id_is_64_small_hexadecimal_digits_and_nothing_else(text):
    fit = len(text) == 64 and set(text) <= set("0123456789abcdef")
    assert is_file_id(text) == fit
    if not fit:
        with pytest.raises(ValidationError):
            TypeAdapter(FileId).validate_python(text)


@pytest.mark.spec("R-P06")
@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("CON", "_CON"), ("nul.png", "_nul.png"), ("COM¹", "_COM¹"), ("a:b", "a_b"), ("a\nb.png", "a b.png"),
        ("\x1b[31mred.png", "[31mred.png"), ("gpj.\u202eexe", "gpj.exe"), ("a\u200bb", "ab"), ("cafe\u0301", "café"), ("🎨.png", "🎨.png"),
        ("-rf", "_rf"), (".hidden", "hidden"), ("..", "file"), ("", "file"), ("a/b\\c.png", "c.png"), ("C:\\x\\y.png", "y.png"),
        ("\ud800", "_"), (" x . ", "x"), ("\u2028x", "x"),
    ],
)  # fmt: skip
def test_a_name_is_cleaned_for_showing(given, shown):
    assert shown_name(given) == shown


@pytest.mark.spec("R-P06")
@given(st.text(max_size=400))
def test_a_shown_name_is_one_short_line_without_a_folder(text):
    shown = shown_name(text)
    assert 0 < len(shown.encode()) <= 210
    assert not re.search(r'[/\\:*?"<>|\x00-\x1f\x7f]', shown)
    assert all(unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp") for character in shown)
    assert shown_name(shown) == shown


def test_a_long_name_keeps_its_suffix():
    assert shown_name("é" * 255 + ".png").endswith("é.png")
    assert shown_name("x" * 256) == "x" * 200


@pytest.mark.spec("R-P06")
@given(st.text(max_size=300))
def test_a_download_is_named_by_rfc_6266_in_one_ascii_line(text):
    header = content_disposition(text, inline=False)
    found = re.fullmatch(r"attachment; filename=\"([ !#-\[\]-~]*)\"; filename\*=UTF-8''([A-Za-z0-9%._~-]*)", header)
    assert found
    assert unquote(found[2]) == shown_name(text)


def test_a_picture_is_named_but_shown_in_place():
    assert content_disposition("ä.png", inline=True) == "inline; filename=\"_.png\"; filename*=UTF-8''%C3%A4.png"
