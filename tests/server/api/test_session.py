"""The token, and the sessions that it opens."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from server.api.session import SESSION_S, Keys, check_keys
from server.settings import WrongUsage
from tests.server.api.kit import TOKEN, run, served


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "keys"
    folder.mkdir()
    return folder


@pytest.mark.spec("R-P08")
def test_token_and_secret_are_made_once_for_this_user_only(folder: Path) -> None:
    before = os.umask(0)
    try:
        first = check_keys(folder)
    finally:
        os.umask(before)
    assert check_keys(folder) == first
    assert [len(part) for part in first] == [43, 43]
    assert (mode(folder / "token"), mode(folder / "secret")) == (0o600, 0o600)
    assert sorted(path.name for path in folder.iterdir()) == ["secret", "token"]


@pytest.mark.spec("R-N07", "R-P08")
@pytest.mark.parametrize("name", ["token", "secret"])
@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [
        ("x" * 43, 0o644, "other users can read or own it"),
        ("x" * 43, 0o640, "other users can read or own it"),
        ("x" * 43, 0o602, "other users can read or own it"),
        ("x" * 31, 0o600, "shorter than 32 characters"),
        ("", 0o600, "shorter than 32 characters"),
        ("x" * 20 + " " + "y" * 20, 0o600, "shorter than 32 characters or has others than ASCII"),
        ("ü" * 43, 0o600, "has others than ASCII"),
    ],
)
def test_a_loose_or_short_key_is_refused_with_what_to_do(folder: Path, name: str, content: str, mode: int, reason: str) -> None:
    check_keys(folder)
    (folder / name).write_text(content)
    (folder / name).chmod(mode)
    with pytest.raises(WrongUsage, match=reason) as error:
        check_keys(folder)
    assert "Remove it" in str(error.value)
    assert str(folder / name) in str(error.value)
    assert "x" * 20 not in str(error.value)


def test_a_key_that_is_a_link_is_refused(folder: Path) -> None:
    (folder / "elsewhere").write_text("x" * 43)
    (folder / "elsewhere").chmod(0o600)
    (folder / "token").symlink_to(folder / "elsewhere")
    with pytest.raises(WrongUsage, match="cannot be read \\(it is a link\\)"):
        check_keys(folder)


def test_a_session_lasts_thirty_days_and_outlives_a_restart(folder: Path) -> None:
    now = 1000.0
    check_keys(folder)

    def keys() -> Keys:
        token, secret = check_keys(folder)
        return Keys(token, secret.encode(), 1, folder / "closed", lambda: now)

    cookie = keys().open_session()
    assert keys().session_of(cookie) == cookie.split(".", maxsplit=1)[0]
    now += SESSION_S - 1
    assert keys().session_of(cookie) is not None
    now += 1
    assert keys().session_of(cookie) is None


def test_a_closed_session_stays_closed_after_a_restart(folder: Path) -> None:
    keys = Keys.load(folder, 1)
    cookie, other = keys.open_session(), keys.open_session()
    keys.close_session(cookie)
    for one in (keys, Keys.load(folder, 1)):
        assert one.session_of(cookie) is None
        assert one.session_of(other) is not None
    assert mode(folder / "closed_sessions") == 0o600


@pytest.mark.parametrize("name", ["token", "secret"])
def test_a_new_token_or_secret_ends_every_session(folder: Path, name: str) -> None:
    cookie = Keys.load(folder, 1).open_session()
    (folder / name).unlink()
    assert Keys.load(folder, 1).session_of(cookie) is None


@pytest.mark.spec("L10")
def test_keys_show_nothing_of_themselves(folder: Path) -> None:
    keys = Keys.load(folder, 8765)
    assert repr(keys) == str(keys) == "Keys(cookie='latentgraph_8765')"


def test_the_page_trades_the_token_for_a_session(home: Path) -> None:
    async def step() -> None:
        async with served(home, whole=True) as server:
            page = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
            status, headers, view = await server.ask("POST", "/v1/session", json={"token": TOKEN}, headers=page)
            cookie, *attributes = headers["Set-Cookie"].split("; ")
            assert (status, view["kind"]) == (201, "session")
            assert cookie.startswith(f"latentgraph_{server.port}=")
            assert attributes == ["Max-Age=2592000", "Path=/", "HttpOnly", "SameSite=Strict"]

            mine = page | {"Cookie": cookie}
            assert (await server.ask("GET", "/v1/session", headers=mine))[2] == view
            assert (await server.ask("GET", "/v1/session", headers=server.bearer))[2] == {"kind": "bearer", "client": "api"}

            status, headers, _ = await server.ask("DELETE", "/v1/session", headers=mine)
            assert (status, headers["Set-Cookie"].split("; ")[1]) == (204, "Max-Age=0")
            assert (await server.ask("GET", "/v1/session", headers=mine))[0] == 401

    run(step())


@pytest.mark.spec("R-N08", "L10")
def test_a_wrong_token_opens_nothing_and_is_not_repeated(home: Path) -> None:
    async def step() -> None:
        async with served(home, whole=True) as server:
            for body in ({"token": "wrong-secret"}, {"token": TOKEN[:-1]}, {"token": TOKEN + "x"}):
                status, headers, problem = await server.ask("POST", "/v1/session", json=body)
                assert (status, problem["code"], "Set-Cookie" in headers) == (401, "unauthorized", False)
                assert body["token"] not in str(problem)
            status, _, problem = await server.ask("POST", "/v1/session", json={"token": ["wrong-secret"]})
            assert (status, "wrong-secret" in str(problem)) == (422, False)

    run(step())


def test_a_client_may_give_its_own_name(home: Path) -> None:
    async def step() -> None:
        async with served(home, whole=True) as server:
            for given, name in (("batch-7", "batch-7"), ("x" * 65, "api"), ("", "api")):
                headers = server.bearer | {"Latentgraph-Client": given}
                assert (await server.ask("GET", "/v1/session", headers=headers))[2]["client"] == name

    run(step())
