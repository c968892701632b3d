"""The Call: one round of a call of a tool, of a read or of a prompt."""

import inspect
import json
import logging
import math
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar, overload

from mcpedge.v1 import common_pb2, tools_pb2

from . import questions, types
from .answers import Answers, Unwound, round_trip
from .asked import DONE, Asked, in_loop
from .encoding import encode, valid
from .events import Events
from .failure import DefinitionError, decode
from .logger import call_logger
from .questions import Question
from .types import LEVELS, ClientCapabilities, Implementation, Level, Principal
from .wire import cache_hint, capabilities, from_wire

T = TypeVar("T")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")


_ELSEWHERE = {
    **{level: f'call.log("{level}", …)' for level in ("debug", "info", "warning", "error")},
    "report_progress": "call.progress(…)",
    "elicit": "call.ask(key, message, form)",
    "elicit_url": "call.ask_url(key, message, url)",
    "list_roots": "call.roots(key)",
    "request_id": "call.id",
    "client_id": "call.principal.client_id",
    "request_context": "call.lifespan, call.meta, …",
    "lifespan_context": "call.lifespan",
    "session": "call.ask(…), call.sample(…) …; there are no sessions",
    "session_id": "call.id; there are no sessions",
    "fastmcp": "the name of your Server",
}


class CallBase:
    """The common part of Call and AsyncCall: the request of a handler, and the events that it sends to the client. All methods may be
    called from any thread until the handler returns; later events are dropped."""

    def __init__(
        self, context: common_pb2.RequestContext, events: Events | None = None, answers: Answers | None = None, deadline: float = math.inf, lifespan: Any = None
    ) -> None:
        """events is None if the call can neither send events nor ask questions. deadline is a time of time.monotonic."""
        self._context = context
        self._events = events
        self._answers = answers or Answers([], b"")
        self._deadline = deadline
        self._lock = threading.RLock()
        self._progress = -math.inf
        self._deferred = False
        self._meta = ""
        self.id: str = context.call_id
        """The id of the call: random, at most 64 characters, equal in all rounds and attempts of the call, so it can be an
        idempotency key."""
        self.attempt: int = context.attempt
        """1 for the first run of a round, 2 if it is retried because a replica was lost."""
        self.round: int = context.round
        """1 for the first round; each round with new answers adds 1."""
        self.asked: list[Asked[Any]] = []
        """The questions of an async handler, awaited or not."""
        self.lifespan: Any = lifespan
        """The value that the lifespan of the Server yielded, None if it has none."""
        self.meta: dict[str, Any] = decode("_meta", context.meta_json)
        """`_meta` of the client's request, empty if it has none."""
        self.wants_progress = events is not None and context.progress_wanted
        """Whether the client receives progress. Check it if progress is expensive to compute."""
        self.log_level: Level | None = LEVELS[context.log_level - 1] if context.log_level else None
        """The lowest level that the client wants; None if it wants no messages."""
        self.ended = threading.Event()
        """Set when the call is cancelled; see cancelled."""
        self.cache: common_pb2.CacheHint | None = None
        """The value of set_cache, None if it was not called."""

    @cached_property
    def principal(self) -> Principal:
        """The caller. An empty subject means an anonymous one."""
        made: Principal = from_wire(self._context.principal)
        return made

    @cached_property
    def client_info(self) -> Implementation | None:
        """The name and version that the client reports, for display only; None if it reports none."""
        return from_wire(self._context.client_info) if self._context.HasField("client_info") else None

    @cached_property
    def client_capabilities(self) -> ClientCapabilities:
        """The questions that the client supports. No check is needed before asking: the edge answers for a client that
        lacks the capability. Check it to choose another way."""
        return capabilities(self._context.client_capabilities)

    def __getattr__(self, name: str) -> Any:
        """Raises AttributeError. For members of FastMCP's Context the message says what to write instead."""
        say = _ELSEWHERE.get(name)
        raise AttributeError(f"a Call has no {name!r}{(say and ': write ' + say) or ''}")

    def claim(self, name: str) -> Any:
        """A claim of the caller's access token, as JSON; None if the token has no such claim, or if the edge's setting
        `claims` of this backend does not name it."""
        return self.principal.claims.get(name)

    @property
    def time_remaining(self) -> float:
        """Seconds until the deadline, infinite if there is none."""
        return max(0.0, self._deadline - time.monotonic())

    @property
    def cancelled(self) -> bool:
        """Whether the client has cancelled the call, or its deadline has passed. Plain functions must check it; an async function is cancelled
        as in asyncio."""
        return self.ended.is_set()

    @property
    def task_id(self) -> str:
        """The id of the call's task, empty if the call is not a task, or not yet. The same caller may use it to read the task."""
        return self._context.task.id

    # What is kept, and what goes with the result.

    @property
    def state(self) -> bytes | None:
        """The bytes of set_state or of a checkpoint, None if there are none."""
        return self._answers.state

    def set_state(self, state: bytes) -> None:
        """Stores bytes for the next round, if there is one: the edge seals them and passes them through the client. State
        and answers together are limited to 64 KiB."""
        with self._lock:
            self._answers.state = state

    def _keep_once(self, key: str, value: T) -> T:
        with self._lock:
            try:
                self._answers.keep_once(key, round_trip(key, value))
            except TypeError as e:
                self._answers.mistaken(str(e))
        return value

    def _step(self, key: str) -> str | None:
        """What once has kept under a key; None: nothing. Unwound if this round has had it already."""
        with self._lock:
            self._answers.step(key)
            return self._answers.once(key)

    def set_meta(self, meta: dict[str, Any]) -> None:
        """Sets `_meta` of the result. The `_meta` of a Result has precedence."""
        self._meta = encode(meta)

    def set_cache(self, ttl: float, *, shared: bool = False) -> None:
        """Sets for how many seconds (0 to 30 days) the client may cache the contents, and whether callers may share the
        cache entry. It applies to reads only."""
        self.cache = cache_hint(ttl, shared)

    def describe(self, result: Any) -> None:
        """Adds the values of set_meta and set_cache to a result of the contract. Its own `_meta` has precedence."""
        result.meta_json = result.meta_json or self._meta
        if self.cache is not None and "cache" in result.DESCRIPTOR.fields_by_name and not result.HasField("cache"):
            result.cache.CopyFrom(self.cache)

    # Messages to the client.

    def wants_log(self, level: Level) -> bool:
        """Whether the client wants messages of this level."""
        least = self._context.log_level
        return self._events is not None and least > 0 and LEVELS.index(level) + 1 >= least

    def progress(self, progress: float, total: float | None = None, message: str = "") -> Awaitable[None]:
        """Sends progress to the client, with a message for people. Progress that does not rise or was not requested is
        dropped; of the pending values for a slow reader, only the last is sent. MCP: notifications/progress."""
        if self._events is None or not self._context.progress_wanted:
            return DONE
        with self._lock:
            if progress > self._progress:
                self._progress = progress
                event = common_pb2.Progress(progress=progress, total=total, message=valid(message))
                self._events.put("progress", event)
        return DONE

    def log(self, level: Level, data: Any, *, logger: str = "") -> Awaitable[None]:
        """Sends the client a log message: any value that encodes as JSON, under a logger's name. Messages below the
        client's level are dropped before encoding. They must not contain secrets. MCP: notifications/message."""
        if self._events is None or not self.wants_log(level):
            return DONE
        try:
            text = encode(data)
        except ValueError as e:
            text = encode(f"log data that is not JSON: {e}")
        self._events.put("log", common_pb2.LogMessage(level="LOG_LEVEL_" + level.upper(), logger=logger, data_json=text))
        return DONE

    def logger(self, name: str = "") -> logging.Logger:
        """A logger of the standard library whose records are sent to the client, as by log: objects with "msg" and the
        members of `extra`. Levels are debug, info, notice (25), warning, error and critical."""
        return call_logger(self, name)

    def defer(self) -> Awaitable[None]:
        """Makes the call a task now, if it may become one and is not one yet; otherwise it does nothing. A task does not end when its
        client disconnects."""
        with self._lock:
            if self._events is None or not self._context.HasField("task") or self.task_id or self._deferred:
                return DONE
            self._deferred = True
            self._events.put("defer", tools_pb2.Defer())
        return DONE

    def checkpoint(self, state: bytes) -> Awaitable[None]:
        """Stores a checkpoint: if the edge's replica that runs the call is lost, the handler runs again from its top, with
        this state and the answers so far. Raises ValueError above 64 KiB, and stores nothing then. It does nothing with an
        edge that does not support checkpoints."""
        if self._events is None or not self._context.checkpoints:
            return DONE
        with self._lock:
            memory = self._answers.memory(latest=True, state=state)
            self._answers.state = state
            self._events.put("checkpoint", tools_pb2.Checkpoint(state=memory))
        return DONE

    # What the client is asked.

    def answered(self, question: Question[Any]) -> bool:
        """Returns whether the client has answered a question, for handlers that raise InputRequired themselves. The answer is kept for
        later rounds."""
        with self._lock:
            return self._answers.find(question.key, question.fits) is not None

    def _settle(self, asked: Sequence[Question[Any]], read: Callable[[list[Any]], Any], *, blind: bool = False) -> Any:
        """Returns the result of read, called with the answers: directly in a thread, as an awaitable in an event loop. Ends the handler by
        Unwound if an answer is missing. With blind the answers are not passed."""
        responses = self._responses(asked)

        def settled() -> Any:
            if None in responses or self._answers.unwound:
                self._answers.unwound = True
                raise Unwound()
            return read([] if blind else [q.read(r) for q, r in zip(asked, responses, strict=True)])

        if not in_loop():
            return settled()
        names = ", ".join(json.dumps(q.key, ensure_ascii=False) for q in asked)
        made: Asked[Any] = Asked(f"the question {names}", settled)
        self.asked.append(made)
        return made

    def _responses(self, asked: Sequence[Question[Any]]) -> list[Any]:
        """Returns the unvalidated answers to these questions, None for a missing one, which is asked at the end of the round."""
        if self._events is None:
            raise DefinitionError("the client cannot be asked here: only tools, reads and prompts can")
        found: list[Any] = []
        with self._lock:
            for question in asked:
                self._answers.ask(question.request)
                response = self._answers.find(question.key, question.fits)
                if response is None:
                    self._answers.missing[question.key] = question.request
                found.append(response)
        return found

    def _once(self, key: str, fn: Callable[[], Any]) -> Any:
        """Returns the stored value of once: directly in a thread, as an awaitable in an event loop."""
        if not in_loop():
            kept = self._step(key)
            if kept is not None:
                return json.loads(kept)
            try:
                value = fn()
            except BaseException:
                self._answers.failed(key)
                raise
            if inspect.isawaitable(value):
                raise DefinitionError(f"once({key!r}): an async function needs an async handler, and await")
            return self._keep_once(key, value)

        async def settled() -> Any:
            kept = self._step(key)
            if kept is not None:
                return json.loads(kept)
            try:
                value = fn()
                value = await value if inspect.isawaitable(value) else value
            except BaseException:
                self._answers.failed(key)
                raise
            return self._keep_once(key, value)

        made: Asked[Any] = Asked(f"once({key!r})", settled)
        self.asked.append(made)
        return made

    @property
    def mistake(self) -> str | None:
        """The mistake of the handler with a key or with once, which ends the round; None: there is none."""
        return self._answers.mistake


class Call(CallBase):
    """One round of a call, for plain handlers: a parameter annotated with Call receives it. In async handlers, whose parameter is an
    AsyncCall for type checkers, the same methods are awaited."""

    def once(self, key: str, fn: Callable[[], T]) -> T:
        """Returns the value of fn, which is called in the first round that reaches this line. Later rounds return the same
        value, which is stored in the call's state, so it must encode as JSON. The key is unique among those of once in the call: in
        a loop it has the id of the item. A round that is retried because a replica was lost calls fn again, unless there was a
        checkpoint since."""
        made: T = self._once(key, fn)
        return made

    @overload
    def ask(self, key: str, message: str, form: type[T], /) -> T: ...
    @overload
    def ask(self, key: str, message: str, form: Any, /) -> Any: ...
    @overload
    def ask(self, key: str, message: str, /, **fields: Any) -> dict[str, Any]: ...
    def ask(self, key: str, message: str, form: Any = None, /, **fields: Any) -> Any:
        """Asks the user to complete a form: a pydantic model (or dataclass) of strings, numbers, booleans and lists of
        enumerated strings; a primitive type, for one value that is named by the key; or fields, as name=str, for a dict.
        Raises Declined or Dismissed.

        Execution is durable by replay: a handler that asks runs from its top in each round. A question with an answer returns it;
        the first one without an answer ends the handler. Answers are kept in all later rounds; a question is repeated if its answer
        is invalid. So:

        - do nothing that must not happen twice before the last question is answered, or do it by once;
        - ask in the same order under the same keys in every round (ask_all asks several questions at once).

        MCP: elicitation/create in form mode; InputRequiredResult.
        """
        return self.answer(questions.form(key, message, form, **fields))

    def ask_form(self, key: str, message: str, schema: str | dict[str, Any]) -> questions.ElicitResult:
        """Asks by a flat JSON Schema object of primitive properties, which is sent unchanged. Accepted content satisfies
        its required members, types, enums and bounds."""
        return self.answer(questions.form_schema(key, message, schema))

    def ask_url(self, key: str, message: str, url: str) -> None:
        """Asks the user to open an https: URL, for data that must not pass through the client (logins, secrets, payments).
        It returns when the user has agreed, not when the page is completed. Raises Declined or Dismissed. MCP:
        elicitation/create in URL mode."""
        made: None = self._settle([questions.open_url(key, message, url)], lambda answers: answers[0])
        return made

    def sample(
        self, key: str, request: types.SamplingRequest | str | Sequence[types.SamplingMessage], *, max_tokens: int = 1000, **more: Any
    ) -> types.SamplingResult:
        """Requests a completion from the client's model: a prompt, or messages with other members of a SamplingRequest as
        keywords, or a SamplingRequest. `text` of the result is the answer's text. MCP: sampling/createMessage."""
        return self.answer(questions.sampling(key, request, max_tokens=max_tokens, **more))

    def roots(self, key: str) -> list[types.Root]:
        """Requests the directories and files that the client works on; there may be none. MCP: roots/list."""
        return self.answer(questions.list_roots(key))

    @overload
    def ask_all(self, q1: Question[T1], /) -> tuple[T1]: ...
    @overload
    def ask_all(self, q1: Question[T1], q2: Question[T2], /) -> tuple[T1, T2]: ...
    @overload
    def ask_all(self, q1: Question[T1], q2: Question[T2], q3: Question[T3], /) -> tuple[T1, T2, T3]: ...
    @overload
    def ask_all(self, *questions: Question[Any]) -> tuple[Any, ...]: ...
    def ask_all(self, *questions: Question[Any]) -> tuple[Any, ...]:
        """Asks several questions in one round, at most 16, and returns their answers. Raises the error of the first that
        was declined or dismissed; Call.answer returns the answers individually."""
        made: tuple[Any, ...] = self._settle(questions, tuple)
        return made

    def require(self, *questions: Question[Any]) -> None:
        """Ensures that all these questions are answered, whatever the answers are: afterwards each answer returns at once."""
        made: None = self._settle(questions, lambda _: None, blind=True)
        return made

    def answer(self, question: Question[T]) -> T:
        """The client's answer to one question."""
        made: T = self._settle([question], lambda answers: answers[0])
        return made
