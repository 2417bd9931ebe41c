// Trades the token of the link for a session, forgets it, and tells how the server is.
"use strict";

const state = document.getElementById("state");

async function openSession(token) {
  const answer = await fetch("/v1/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
  });
  return answer.ok;
}

async function show() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    history.replaceState(null, "", "/");
    await openSession(token);
  }
  const answer = await fetch("/v1/server");
  if (!answer.ok) {
    state.textContent = "This page has no session. Open the link that `latentgraph serve` printed.";
    return;
  }
  const server = await answer.json();
  state.textContent =
    `Version ${server.version} is running. The canvas is not here: in a checkout run "make page", elsewhere install the wheel of "make wheel".`;
  document.getElementById("docs").hidden = false;
}

show().catch(() => { state.textContent = "The server does not answer. Is it still running?"; });
