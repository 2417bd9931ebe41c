"""The server's end of the engine: starts it, speaks with it, notices its death at once, and starts the next one.

Knows nothing of jobs but their ids. What was submitted and has not ended when an engine dies is not submitted again
here: whoever listens hears `on_lost`, and `on_ready` once the next engine is there. Imported by the server process, so
it imports nothing that is heavy.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import shutil
import signal
import socket
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from graph.child import child_environment, end_orphans, note_engine
from graph.errors import Problem
from graph.trials import Try, open_tries
from server.engine import messages
from server.engine.framing import BadFrame, Vocabulary, encode, receive
from server.engine.options import EngineOptions
from server.engine.stderr import log_lines
from server.problems import Refusal

LOG: Final = logging.getLogger("latentgraph.engine")
#: Seconds between two pings, and how long none may be answered before the engine is taken for hung.
PING_S: Final = 2.0
PING_DEADLINE_S: Final = 15.0
#: How long a question may take, unless its asker says.
ASK_S: Final = 30.0
#: An engine that was ready for so long was well: the next death is the first in a row.
STEADY_S: Final = 60.0
LONGEST_PAUSE_S: Final = 30.0
#: How long the engine may take to end after a drain's grace time is over.
ENDING_S: Final = 15.0

DIED: Final = "a process died while it worked on this job"
#: Ids of jobs that ended with an engine, remembered so that none is handed to it twice.
REMEMBERED: Final = 10_000
#: Bytes of messages that may wait to be read.
READ_AHEAD: Final = 2**20
#: Until an engine has answered once it is loading its modules, which takes longer on a busy machine.
START_FACTOR: Final = 4

State = Literal["stopped", "starting", "ready", "waiting", "stopping"]


class EngineListener(Protocol):
    """Who hears of the engine; called on the event loop, must not wait."""

    def on_ready(self, hello: messages.Hello) -> None:
        """An engine is there and has nothing to do: what was submitted before and has not ended is to be submitted again."""

    def on_lost(self, reason: str) -> None:
        """The engine is gone; another one is started."""

    def on_planned(self, message: messages.Planned) -> None:
        """A job has begun."""

    def on_events(self, batch: list[list[Any]]) -> None:  # Any: plain JSON, see `messages.Events`
        """What jobs told."""

    def on_ended(self, message: messages.Ended) -> None:
        """A job has ended."""

    def on_tried(self, message: messages.Tried) -> None:
        """A job's number of tries changed: also of one from before this server started, before the first `on_ready`."""

    def on_status(self, message: messages.Status) -> None:
        """Places and memory changed."""


def pauses() -> Iterator[float]:
    """Seconds to wait before each start after deaths in a row: 0, 1, 2, 4 .. 30."""
    yield 0.0
    pause = 1.0
    while True:
        yield min(pause, LONGEST_PAUSE_S)
        pause *= 2


class EngineLink:
    """One engine process after another."""

    def __init__(
        self, options: EngineOptions, listener: EngineListener, *,
        ping_s: float = PING_S, ping_deadline_s: float = PING_DEADLINE_S,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep, clock: Callable[[], float] = time.monotonic,
        module: str = "server.engine.process",
    ) -> None:  # fmt: skip
        """`sleep` and `clock` pass the time between a death and the next start; `module` is what the child runs."""
        self.options, self.listener = options, listener
        self.state: State = "stopped"
        #: What the present engine said when it was ready, and last of its places; None while there is none.
        self.hello: messages.Hello | None = None
        self.status: messages.Status | None = None
        #: Why the last engine ended or could not start; "" if none has.
        self.failure = ""
        #: How many engines were started anew.
        self.restarts = 0
        self._ping_s, self._missed_at_most = ping_s, max(1, round(ping_deadline_s / ping_s))
        self._sleep, self._clock, self._module = sleep, clock, module
        self._vocabulary = Vocabulary(messages.FROM_ENGINE)
        self._supervisor: asyncio.Task[None] | None = None
        self._process: Process | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._submitted: set[str] = set()
        #: Jobs that ended with this engine, which takes none of them twice.
        self._ended: dict[str, None] = {}
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}  # Any: plain JSON
        self._numbers = itertools.count(1)
        self._unanswered, self._has_answered = 0, False
        self._kill_reason = ""
        #: Where the engine is written down, for the next server, should this one be killed.
        self._noted: Path | None = None
        self._is_stopping = self._must_reload = False
        self._hurry = asyncio.Event()

    @property
    def pid(self) -> int | None:
        """The engine's process number, while there is an engine."""
        return None if self._process is None else self._process.pid

    # ---- life ----

    async def start(self) -> None:
        """Start an engine, and from then on see to it that there is one. Returns before it is ready."""
        if self._supervisor is None:
            self.state, self._is_stopping = "starting", False
            self._supervisor = asyncio.create_task(self._supervise(), name="engine")

    async def stop(self, grace_s: float) -> None:
        """End the engine: nothing new starts, what runs may end within `grace_s`, and is heard of as ever."""
        if self._supervisor is None:
            return
        self.state, self._is_stopping = "stopping", True
        self._hurry.set()
        self._send(messages.Quit(grace_s))
        done, _ = await asyncio.wait([self._supervisor], timeout=grace_s + ENDING_S)
        if not done:
            self._kill("it did not end in time")
            await asyncio.wait([self._supervisor], timeout=ENDING_S)
        self._supervisor.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._supervisor
        self._supervisor, self.state = None, "stopped"

    def reload(self) -> None:
        """Start a fresh engine that reads the node types again: now if no job is with this one, else when these have ended.

        Until then `submit` takes nothing.
        """
        self._must_reload = True
        self._hurry.set()
        self._reload_if_idle()

    def _reload_if_idle(self) -> None:
        if self._must_reload and not self._submitted and self._writer is not None:
            self._send(messages.Quit(0.0))
            asyncio.get_running_loop().call_later(ENDING_S, self._end_late, self._process)

    def _end_late(self, process: Process | None) -> None:
        """Kill an engine that was told to end and has not: its disk may hang, and jobs wait for the next one."""
        if process is not None and process is self._process:
            self._kill(f"it did not end within {ENDING_S:g} s of being told to")

    async def _supervise(self) -> None:
        waits = pauses()
        await self._charge()
        while not self._is_stopping:
            self.state, self._must_reload, self._kill_reason = "starting", False, ""
            self._hurry.clear()
            reason, ready_at = await self._live_somehow()
            is_wanted = self._must_reload and not self._kill_reason
            if self._is_stopping:
                self._forget_engine("the server stops")
                return
            self._forget_engine("the node types are read again" if is_wanted else reason)
            self.restarts += 1
            if is_wanted:
                waits = pauses()
                continue
            LOG.error("the engine is gone: %s", reason)
            self.failure = reason
            if ready_at is not None and self._clock() - ready_at >= STEADY_S:
                waits = pauses()
            self.state = "waiting"
            await self._pause(next(waits))

    async def _pause(self, seconds: float) -> None:
        """Wait before the next start; less if someone has a reason to try now."""
        if seconds <= 0 or self._is_stopping:
            return
        waiting = [asyncio.ensure_future(self._sleep(seconds)), asyncio.ensure_future(self._hurry.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()

    def _forget_engine(self, reason: str) -> None:
        """Tell everybody who waits for this engine that it is gone."""
        was_known = self.hello is not None or bool(self._submitted)
        self._writer, self._process, self.hello, self.status = None, None, None, None
        self._submitted.clear()
        self._ended.clear()
        waiting, self._answers = self._answers, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(_unavailable())
        if was_known:
            self._tell(self.listener.on_lost, reason)

    async def _live_somehow(self) -> tuple[str, float | None]:
        """`_live`, or after a mistake of ours the reason why not: without a supervisor no job would ever end."""
        try:
            return await self._live()
        except Exception as error:
            LOG.exception("an engine could not be looked after")
            if self._process is not None:
                _kill_process(self._process)
            return f"it could not be looked after: {type(error).__name__}", None

    async def _live(self) -> tuple[str, float | None]:
        """One engine from its start to its end: why it ended, and since when it was ready, if it was."""
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:  # no file descriptor is left: the next start may find one
            return f"it cannot be started: {error}", None
        with theirs:
            try:
                process = await self._spawn(theirs)
            except OSError as error:
                ours.close()
                return f"it cannot be started: {error}", None
        self._process = process
        reader, self._writer = await asyncio.open_connection(sock=ours, limit=READ_AHEAD)
        self._unanswered, self._has_answered = 0, False
        if self._is_stopping:  # said while there was nobody to hear it
            self._send(messages.Quit(0.0))
        assert process.stdout is not None
        logging_task = asyncio.create_task(log_lines(process.stdout, LOG))
        pinging = asyncio.create_task(self._keep_pinging())
        ready_at: float | None = None
        reason = "it closed the connection"
        try:
            while True:
                message = await receive(reader, self._vocabulary)
                if isinstance(message, messages.Hello):
                    ready_at = self._clock()
                self._hear(message)
        except (EOFError, OSError):
            pass
        except BadFrame as error:
            reason = f"it sent what is no message: {error}"
        except Exception as error:  # a frame whose contents are not ours; nothing after it is to be trusted
            LOG.exception("what the engine said cannot be understood")
            reason = f"it sent what is no message: {type(error).__name__}"
        finally:
            if self.state == "ready":
                self.state = "waiting"
            pinging.cancel()
            self._writer.close()
            await self._bury(process, logging_task)
        return self._reason(reason, process.returncode), ready_at

    def _reason(self, reason: str, code: int | None) -> str:
        if self._kill_reason:
            return self._kill_reason
        if code is not None and code < 0 and reason == "it closed the connection":
            return f"it was killed by signal {-code}"
        return f"{reason} (exit code {code})" if code else reason

    async def _spawn(self, theirs: socket.socket) -> Process:
        # In a session of its own: Ctrl-C is the server's to handle, and what the engine starts can be ended with it.
        # -P: the current folder may hold anything, a folder called graph too.
        command = [sys.executable, "-P", "-m", self._module, str(theirs.fileno()), self.options.to_json()]
        # What a node prints belongs to the log, like what goes to stderr.
        process = await asyncio.create_subprocess_exec(
            *command, pass_fds=(theirs.fileno(),), env=child_environment(), start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        self._noted = await asyncio.to_thread(note_engine, self.options.spool, process.pid)
        return process

    async def _bury(self, process: Process, logging_task: asyncio.Task[None]) -> None:
        """See to it that the engine and all that it started are gone."""
        if not self._is_stopping and not self._must_reload:
            _kill_process(process)
        try:
            await asyncio.wait_for(process.wait(), ENDING_S)
        except TimeoutError:
            _kill_process(process)
            await process.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # a child that was reading the node types
        if self._noted is not None:
            await asyncio.to_thread(shutil.rmtree, self._noted, ignore_errors=True)
        # Workers end by themselves, and note before that the death was not their work's fault.
        await self._charge()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(logging_task, 1.0)

    async def _charge(self) -> None:
        """Make sure that nothing of an engine that is gone still runs, and tell under which jobs a process died unseen.

        The next engine takes the notes back when it opens the ledger. Until then they may be told again, which changes
        nothing: they say how many tries there were, not that there was one more.
        """
        try:
            await asyncio.to_thread(end_orphans, self.options.spool)
            tries = await asyncio.to_thread(open_tries, self.options.ledger)
        except Exception as error:  # OSError, mostly: nobody is charged, and the next engine is started all the same
            LOG.error("the ledger of tries cannot be read: %s", error)
            return
        for job, count in counted(tries).items():
            self._tell(self.listener.on_tried, messages.Tried(job, count, DIED))

    def _kill(self, reason: str) -> None:
        self._kill_reason = reason
        if self._process is not None:
            _kill_process(self._process)

    async def _keep_pinging(self) -> None:
        # Counted in pings, not by a clock: a machine that slept, or a loop that was late, is no hung engine.
        for number in itertools.count(1):
            await asyncio.sleep(self._ping_s)
            if self._unanswered >= self._missed_at_most * (1 if self._has_answered else START_FACTOR):
                self._kill(f"it did not answer {self._unanswered} pings in a row")
                return
            self._unanswered += 1
            self._send(messages.Ping(number))

    # ---- hearing ----

    def _hear(self, message: tuple[Any, ...]) -> None:  # Any: one of `messages.FROM_ENGINE`
        listener = self.listener
        match message:
            case messages.Pong():
                self._unanswered, self._has_answered = 0, True
            case messages.Events(batch):
                known = [one for one in batch if one[0] in self._submitted]
                if known:
                    self._tell(listener.on_events, known)
            case messages.Planned() if message.job in self._submitted:
                self._tell(listener.on_planned, message)
            case messages.Tried() if message.job in self._submitted:
                self._tell(listener.on_tried, message)
            case messages.Ended() if message.job in self._submitted:
                self._submitted.discard(message.job)
                self._ended[message.job] = None
                if len(self._ended) > REMEMBERED:
                    del self._ended[next(iter(self._ended))]
                self._tell(listener.on_ended, message)
                self._reload_if_idle()
            case messages.Status():
                self.status = message
                self._tell(listener.on_status, message)
            case messages.Answer(number, value):
                self._answered(number, lambda answer: answer.set_result(value))
            case messages.Refused(number, problem):
                self._answered(number, lambda answer: answer.set_exception(refusal_from(problem)))
            case messages.Hello():
                self._on_hello(message)
            case messages.Failed(said):
                self._kill(f"it cannot start: {said}")

    def _on_hello(self, hello: messages.Hello) -> None:
        if hello.protocol != messages.PROTOCOL:
            self._kill(f"it speaks protocol {hello.protocol}, the server {messages.PROTOCOL}; start the server again")
            return
        if self._is_stopping:
            return
        self.hello, self.state, self.failure = hello, "ready", ""
        self._tell(self.listener.on_ready, hello)
        self._reload_if_idle()

    def _answered(self, number: int, settle: Callable[[asyncio.Future[dict[str, Any]]], None]) -> None:  # Any: plain JSON
        answer = self._answers.pop(number, None)
        if answer is not None and not answer.done():
            settle(answer)

    def _tell(self, hear: Callable[[Any], None], said: Any) -> None:  # Any: each hears another message
        try:
            hear(said)
        except Exception:  # a mistake of a listener is no reason to lose the engine
            LOG.exception("what the engine said was not taken in")

    # ---- saying ----

    def submit(self, message: messages.Submit) -> bool:
        """Hand a job over; False if there is no engine to take it, and `on_ready` will come."""
        if self.state != "ready" or self._must_reload:
            return False
        if message.job not in self._ended:
            self._submitted.add(message.job)
            self._send(message)
        return True

    def cancel(self, job: str) -> None:
        """End a job; it is told as ended soon. Nothing happens to one that is not with the engine."""
        self._send(messages.Cancel(job))

    def prioritise(self, job: str, priority: int) -> None:
        """Give a job that was submitted another priority."""
        self._send(messages.Prioritise(job, priority))

    def watch(self, job: str, wanted: bool) -> None:
        """Whether previews of a job are wanted."""
        self._send(messages.Watch(job, wanted))

    async def ask(self, question: str, *, timeout_s: float = ASK_S, **arguments: Any) -> dict[str, Any]:  # Any: plain JSON
        """The engine's answer; see `messages.Ask`.

        Raises Refusal: what the engine refused, engine_unavailable without an engine, not_ready_in_time after `timeout_s`.
        """
        if self.state != "ready":
            raise _unavailable()
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._send(messages.Ask(number, question, arguments))
        try:
            return await asyncio.wait_for(answer, timeout_s)
        except TimeoutError:
            raise Refusal(
                "not_ready_in_time", f"The engine did not answer within {timeout_s:g} s; try again.", retry_after_s=5
            ) from None
        finally:
            self._answers.pop(number, None)

    def _send(self, message: tuple[Any, ...]) -> None:  # Any: one of `messages.FROM_SERVER`
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(encode(message))


def _unavailable() -> Refusal:
    return Refusal(
        "engine_unavailable", "The engine is not running; it is being started again. Try again in a moment.", retry_after_s=2
    )


def refusal_from(document: dict[str, Any]) -> Refusal:  # Any: plain JSON
    """The refusal that a problem document tells."""
    known = {"type", "title", "status", "code", "detail", "problems", "node", "port", "pointer", "retry_after_s"}
    places = {name: document.get(name) for name in ("node", "port", "pointer", "retry_after_s")}
    problems = [Problem(**problem) for problem in document.get("problems", [])]
    facts = {name: value for name, value in document.items() if name not in known}
    return Refusal(document["code"], document["detail"], problems=problems, **places, **facts)


def counted(tries: Iterable[Try]) -> dict[str, int]:
    """The number of tries of each job, with the one that has just ended."""
    found: dict[str, int] = {}
    for one in tries:
        found[one.run] = max(found.get(one.run, 0), one.tries + 1)
    return found


def _kill_process(process: Process) -> None:
    # Not `process.kill()`: that looks first whether it has ended, and so takes its exit code away from who waits for it.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
