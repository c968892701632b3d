"""The Call: one round of a call of a tool, of a read or of a prompt."""

import json
import logging
import math
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, overload

from mcpedge.v1 import common_pb2, tools_pb2

from . import questions
from .answers import Answers, Unwound, round_trip
from .encoding import encode, valid
from .events import Events
from .failure import DefinitionError, decode
from .logger import call_logger
from .questions import ElicitResult, Question
from .types import LEVELS, ClientCapabilities, Implementation, InputResponse, Level, Principal, Root, SamplingMessage, SamplingRequest, SamplingResult, duration

T = TypeVar("T")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")


class Call:
    """What a handler may know of the request, and its way to the client while it runs. A handler gets it by a parameter that
    is annotated with Call. Everything may be used from any thread until the handler returns; after that events are dropped."""

    def __init__(self, context: common_pb2.RequestContext, events: Events | None = None, answers: Answers | None = None, deadline: float = math.inf) -> None:
        """events is None where nothing can be told or asked. deadline is by time.monotonic."""
        self._context = context
        self._events = events
        self._answers = answers or Answers([], b"")
        self._deadline = deadline
        self._lock = threading.RLock()
        self._progress = -math.inf
        self._deferred = False
        self._meta = ""
        self.id: str = context.call_id
        """Random, at most 64 characters, and the same over the rounds and re-runs of one call: a key for idempotency."""
        self.attempt: int = context.attempt
        """1 for the first run of a round, 2 when it is run again because a replica was lost."""
        self.round: int = context.round
        """1 at first, and one more each time answers came."""
        self.principal: Principal = context.principal
        """Who is calling. An empty subject is anonymous."""
        self.client_info: Implementation | None = context.client_info if context.HasField("client_info") else None
        """The client's own word of what it is, for display only; None when it said nothing."""
        self.client_capabilities: ClientCapabilities = context.client_capabilities
        """What the client can be asked. No check is needed before asking: the edge answers for a client that cannot. Check to
        take another way instead."""
        self.meta: dict[str, Any] = decode("_meta", context.meta_json)
        """`_meta` of the client's request; empty: none."""
        self.wants_progress = events is not None and context.progress_wanted
        """Whether progress goes anywhere; for handlers whose count is dear."""
        self.log_level: Level | None = LEVELS[context.log_level - 1] if context.log_level else None
        """The least level that the client wants; None: it wants no messages."""
        self.ended = threading.Event()
        """Set when nobody waits for the call any more, as cancelled says."""
        self.cache: common_pb2.CacheHint | None = None
        """What set_cache said; None: nothing."""

    def claim(self, name: str) -> Any:
        """A claim of the caller's access token, as JSON has it; None where the token has none, or the edge's setting `claims`
        of this backend does not name it."""
        text = self._context.principal.claims_json.get(name)
        return None if text is None else json.loads(text)

    @property
    def time_remaining(self) -> float:
        """Seconds until the deadline; infinite: there is none."""
        return max(0.0, self._deadline - time.monotonic())

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the call any more: the client cancelled it, or its deadline is over. For plain functions,
        which nothing else ends; an async one is cancelled as asyncio does it."""
        return self.ended.is_set()

    @property
    def task_id(self) -> str:
        """The id of the task that the call is; empty: it is none, or none yet. Whoever knows it and is the same caller may
        read the task."""
        return self._context.task.id

    # What is kept, and what goes with the result.

    @property
    def state(self) -> bytes | None:
        """What set_state or a checkpoint kept; None: nothing was."""
        return self._answers.state

    def set_state(self, state: bytes) -> None:
        """Keeps bytes for the next round, if there is one: the edge carries them, sealed, through the client. With the answers
        they are bounded to 64 KiB."""
        with self._lock:
            self._answers.state = state

    def once(self, key: str, fn: Callable[[], T]) -> T:
        """The value of fn, which is called in the first round that comes here and not again in those that follow: its value is
        kept in the call's state, so that it must be what JSON can hold (TypeError). A round that is run again because a
        replica was lost calls it again, unless a checkpoint came between."""
        kept = self._answers.once(key)
        return self._keep_once(key, fn()) if kept is None else json.loads(kept)

    async def once_async(self, key: str, fn: Callable[[], Awaitable[T]]) -> T:
        """As once, with an async function."""
        kept = self._answers.once(key)
        return self._keep_once(key, await fn()) if kept is None else json.loads(kept)

    def _keep_once(self, key: str, value: T) -> T:
        text = round_trip(key, value)
        with self._lock:
            self._answers.keep_once(key, text)
        return value

    def set_meta(self, meta: dict[str, Any]) -> None:
        """Sets `_meta` of the result; a Result's own wins."""
        self._meta = encode(meta)

    def set_cache(self, ttl: float, *, shared: bool = False) -> None:
        """How many seconds (0 to 30 days) the client may keep what was read, and whether all callers may share it. Only for
        reads; elsewhere it is ignored."""
        self.cache = cache_hint(ttl, shared)

    def describe(self, result: Any) -> None:
        """Has a result of the contract say what set_meta and set_cache said, unless it has a `_meta` of its own."""
        result.meta_json = result.meta_json or self._meta
        if self.cache is not None and "cache" in result.DESCRIPTOR.fields_by_name:
            result.cache.CopyFrom(self.cache)

    # What the client is told.

    def wants_log(self, level: Level) -> bool:
        """Whether the client wants messages of this level."""
        least = self._context.log_level
        return self._events is not None and least > 0 and LEVELS.index(level) + 1 >= least

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        """Tells the client how far the call is, with a message for people. What does not rise, and what nobody wants, is
        dropped; of what a slow reader has not taken the last one goes. MCP: notifications/progress."""
        if self._events is None or not self._context.progress_wanted:
            return
        with self._lock:
            if progress > self._progress:
                self._progress = progress
                event = common_pb2.Progress(progress=progress, total=total, message=valid(message))
                self._events.put("progress", event)

    def log(self, level: Level, data: Any, *, logger: str = "") -> None:
        """Sends the client a log message: any value that encodes as JSON, under a logger's name. Below the client's level it
        costs nothing. No secrets. MCP: notifications/message."""
        if self._events is None or not self.wants_log(level):
            return
        try:
            text = encode(data)
        except ValueError as e:
            text = encode(f"log data that is not JSON: {e}")
        self._events.put("log", common_pb2.LogMessage(level="LOG_LEVEL_" + level.upper(), logger=logger, data_json=text))

    def logger(self, name: str = "") -> logging.Logger:
        """A logger of the standard library whose records go to the client, as log does: objects with "msg" and what `extra`
        has. Levels are debug, info, notice (25), warning, error and critical."""
        return call_logger(self, name)

    def defer(self) -> None:
        """Makes the call a task now, if it may become one and is none yet; else it does nothing. From then on the call is not
        ended by its client's leaving."""
        with self._lock:
            if self._events is None or not self._context.HasField("task") or self.task_id or self._deferred:
                return
            self._deferred = True
            self._events.put("defer", tools_pb2.Defer())

    def checkpoint(self, state: bytes) -> None:
        """Says that the handler can go on from here: should the edge's replica that runs the call be lost, the handler runs
        again from its top, with this state and with the answers that it has. ValueError when they have more than 64 KiB,
        which changes nothing. With an edge that takes no checkpoints it does nothing."""
        if self._events is None or not self._context.checkpoints:
            return
        with self._lock:
            memory = self._answers.memory(latest=True, state=state)
            self._answers.state = state
            self._events.put("checkpoint", tools_pb2.Checkpoint(state=memory))

    # What the client is asked. A question without an answer yet ends the handler on the spot; it runs again from its top when
    # the answer is there.

    @overload
    def ask(self, key: str, message: str, form: type[T], /) -> T: ...
    @overload
    def ask(self, key: str, message: str, form: Any, /) -> Any: ...
    @overload
    def ask(self, key: str, message: str, /, **fields: Any) -> dict[str, Any]: ...
    def ask(self, key: str, message: str, form: Any = None, /, **fields: Any) -> Any:
        """Asks the user to fill in a form: a pydantic model (or dataclass) of strings, numbers, booleans and lists of
        enumerated strings; a primitive type, for one value that the form calls by the key; or fields, as name=str, for a
        dict. Raises Declined or Cancelled.

        A handler that asks is run from its top in each round. A question whose answer has come returns it, the first one
        without an answer ends the handler. Answers survive all later rounds; one that does not fit is asked for again. So:

        - do nothing that must not happen twice before the last question is answered, or do it by once;
        - ask in the same order under the same keys in every round (ask_all asks several questions at once).

        MCP: elicitation/create in form mode; InputRequiredResult.
        """
        return self.ask_all(questions.form(key, message, form, **fields))[0]

    def ask_form(self, key: str, message: str, schema: str | dict[str, Any]) -> ElicitResult:
        """Asks by a flat JSON Schema object of primitive properties, sent as it is. Accepted content fits its required
        members, types, enums and bounds."""
        return self.ask_all(questions.form_schema(key, message, schema))[0]

    def ask_url(self, key: str, message: str, url: str) -> None:
        """Asks the user to open an https: URL, for what must not pass through the client (logins, secrets, payments). It
        returns when the user agreed to, not when anything is done there. Raises Declined or Cancelled. MCP:
        elicitation/create in URL mode."""
        self.ask_all(questions.open_url(key, message, url))

    def sample(self, key: str, request: SamplingRequest | str | Sequence[SamplingMessage], *, max_tokens: int = 1000, **more: Any) -> SamplingResult:
        """Asks the client's model: a prompt, messages with what else a SamplingRequest has as keywords, or a whole one. said()
        has the text of what comes. MCP: sampling/createMessage."""
        return self.ask_all(questions.sampling(key, request, max_tokens=max_tokens, **more))[0]

    def roots(self, key: str) -> list[Root]:
        """Asks for the directories and files that the client works on; there may be none. MCP: roots/list."""
        return self.ask_all(questions.list_roots(key))[0]

    @overload
    def ask_all(self, q1: Question[T1], /) -> tuple[T1]: ...
    @overload
    def ask_all(self, q1: Question[T1], q2: Question[T2], /) -> tuple[T1, T2]: ...
    @overload
    def ask_all(self, q1: Question[T1], q2: Question[T2], q3: Question[T3], /) -> tuple[T1, T2, T3]: ...
    @overload
    def ask_all(self, *questions: Question[Any]) -> tuple[Any, ...]: ...
    def ask_all(self, *questions: Question[Any]) -> tuple[Any, ...]:
        """Asks several questions in one round, at most 16, and returns their answers. The first that was declined or cancelled
        raises that; Call.answer tells them apart."""
        return tuple(q.read(response) for q, response in zip(questions, self._answered(questions), strict=True))

    def require(self, *questions: Question[Any]) -> None:
        """Makes sure that all these questions are answered, whatever the answers are: each one's answer then returns at once."""
        self._answered(questions)

    def answer(self, question: Question[T]) -> T:
        """The client's answer to one question."""
        return question.read(self._answered([question])[0])

    def _answered(self, questions: Sequence[Question[Any]]) -> list[InputResponse]:
        """The answers to these questions, as they came. Unwound when one is missing, here or before."""
        if self._events is None:
            raise DefinitionError("the client cannot be asked here: only tools, reads and prompts can")
        found: list[InputResponse] = []
        with self._lock:
            for question in questions:
                response = self._answers.find(question.request.key, question.fits)
                if response is None:
                    self._answers.missing[question.request.key] = question.request
                else:
                    found.append(response)
            if self._answers.missing:
                raise Unwound()
        return found

    def response(self, key: str) -> InputResponse | None:
        """The client's answer to a key as it came, or None: for handlers that raise InputRequired themselves. It is kept for
        the later rounds."""
        with self._lock:
            return self._answers.find(key, lambda _: True)


def cache_hint(ttl: float, shared: bool) -> common_pb2.CacheHint:
    """What clients are told about keeping an answer for so many seconds."""
    return common_pb2.CacheHint(ttl=duration(ttl), scope=common_pb2.CACHE_SCOPE_PUBLIC if shared else common_pb2.CACHE_SCOPE_PRIVATE)
