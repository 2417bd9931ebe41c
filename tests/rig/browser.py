"""A real browser, driven by the DevTools protocol, and a hostile site beside the server."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aiohttp

PATIENCE_S = 60.0

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-port=0",
)  # fmt: skip


class Page:
    """One tab."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._serial = socket, itertools.count(1)
        #: Messages of the console and refusals of the content security policy.
        self.said: list[str] = []

    async def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        number = next(self._serial)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        async with asyncio.timeout(PATIENCE_S):
            while True:
                message = await self._socket.receive_json()
                if message.get("method") == "Log.entryAdded":
                    self.said.append(message["params"]["entry"]["text"])
                if message.get("id") == number:
                    assert "error" not in message, message["error"]
                    found: dict[str, Any] = message["result"]
                    return found

    async def open(self, url: str) -> None:
        """Go to an address and wait until it is loaded (or refused)."""
        await self.command("Page.navigate", url=url)
        await self.until("document.readyState === 'complete'", f"{url} to be loaded")

    async def visit(self, url: str) -> None:
        """Go to an address that may be shown, downloaded or refused, and wait until one of these is over."""
        await self.command("Page.navigate", url=url)  # answered when the navigation is committed or has become a download
        await self.until("document.readyState === 'complete'", f"{url} to be opened or refused")

    async def value(self, expression: str) -> Any:
        """What an expression gives, awaited."""
        answer = await self.command("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def until(self, expression: str, what: str) -> None:
        """Wait until an expression is true; a page that is just being replaced counts as not yet."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                with suppress(AssertionError):
                    if await self.value(expression):
                        return
                await asyncio.sleep(0.05)


@asynccontextmanager
async def browser(names: Mapping[str, str] | None = None) -> AsyncIterator[Page]:
    """A fresh browser with one tab. `names` maps host names to addresses: a rebinding attacker's view."""
    profile = tempfile.mkdtemp(prefix="chromium-")
    rules = ", ".join(f"MAP {name} {address}" for name, address in (names or {}).items())
    command = ["chromium", *_FLAGS, f"--user-data-dir={profile}", *([f"--host-resolver-rules={rules}"] if rules else [])]
    process = subprocess.Popen([*command, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = await _port(Path(profile) / "DevToolsActivePort", process)
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                address = next(tab["webSocketDebuggerUrl"] for tab in await answer.json() if tab["type"] == "page")
            async with session.ws_connect(address, max_msg_size=64 << 20) as socket:
                page = Page(socket)
                for domain in ("Page", "Runtime", "Log"):
                    await page.command(f"{domain}.enable")
                yield page
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(profile, ignore_errors=True)


async def _port(path: Path, process: subprocess.Popen[bytes]) -> int:
    async with asyncio.timeout(PATIENCE_S):
        while not (path.exists() and path.read_text().strip()):
            assert process.poll() is None, "chromium ended at once"
            await asyncio.sleep(0.05)
    return int(path.read_text().splitlines()[0])


class HostileSite:
    """A web site on another port: serves pages of the test's, and writes down what reaches it."""

    def __init__(self) -> None:
        #: Bodies of pages by path.
        self.pages: dict[str, str] = {}
        #: Paths that were asked for beside the pages.
        self.heard: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = site.pages.get(self.path.partition("?")[0])
                if page is None:
                    site.heard.append(self.path)
                self.send_response(200 if page is not None else 204)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write((page or "").encode())

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def hostile_site() -> Iterator[HostileSite]:
    """A hostile site for the time of the block."""
    site = HostileSite()
    try:
        yield site
    finally:
        site.close()
