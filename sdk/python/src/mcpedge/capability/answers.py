"""The state that a call passes from one round to the next."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from google.protobuf.message import DecodeError

from mcpedge.v1 import input_pb2, tools_pb2

from .encoding import encode
from .failure import Failure, Reason

if TYPE_CHECKING:
    from .questions import Question

MAX_STATE = 64 << 10
"""The maximum size of a state, in bytes."""
MAX_REQUESTS = 16
MAX_KEY = 128
"""The maximum size of a key, in bytes."""
MAX_REPEATS = 1000
"""How often one round may ask one question that has an answer: a loop that asks until it likes the answer would not end."""
_MARK = b"\x00capability\x01"
_ONCE = "\x00once:"


class Unwound(BaseException):
    """Ends a handler whose question has no answer yet, or that made a mistake with a key. Catching it has no effect: the call has
    recorded it."""


class InputRequired(Exception):
    """An outcome for handlers that manage state and answers themselves: raising it ends the round. Handlers that ask
    through the Call do not need it. MCP: InputRequiredResult.

    requests, made by form, sampling and so on, are sent together, at most 16; call.answered says whether one was answered. state is returned by Call.state in the next round; None keeps that of
    Call.set_state. retry_after is the delay before the next round without requests, in seconds, at most 3600; 0 means soon.
    repeatable allows the edge to retry the next round with the state after the loss of a replica, whatever the tool's hints
    are.
    """

    def __init__(self, requests: "Sequence[Question[Any]]" = (), *, state: bytes | None = None, retry_after: float = 0, repeatable: bool = False) -> None:
        super().__init__(f"input required: {len(requests)} requests")
        self.requests = list(requests)
        self.state = state
        self.retry_after = retry_after
        self.repeatable = repeatable


class Answers:
    """The client's answers so far, and the unanswered questions of this round. Not safe for concurrent use."""

    def __init__(self, responses: Sequence[input_pb2.InputResponse], state: bytes) -> None:
        """Raises Failure INVALID_ARGUMENT if the state was not made by this library."""
        self.kept: list[input_pb2.InputResponse] = []
        self.latest = [r for r in responses if not r.key.startswith(_ONCE)]
        self.missing: dict[str, input_pb2.InputRequest] = {}
        self.unwound = False
        """Whether the handler was ended by a question without an answer."""
        self.mistake: str | None = None
        """The first mistake of the handler with a key or with once, which ends the round."""
        self._asked: dict[str, tuple[input_pb2.InputRequest, int]] = {}
        self._stepped: set[str] = set()
        self.state: bytes | None = None
        if state:
            memory = tools_pb2.CallToolRequest()  # its fields are those of a memory: answers and a state
            try:
                if not state.startswith(_MARK):
                    raise DecodeError
                memory.ParseFromString(state[len(_MARK) :])
            except DecodeError:
                message = "the state of this call was written by another version of the service; call again from the start"
                raise Failure(Reason.INVALID_ARGUMENT, message) from None
            self.kept = list(memory.input_responses)
            self.state = memory.state if memory.state or memory.arguments_json else None

    def find(self, key: str, fits: Callable[[input_pb2.InputResponse], bool]) -> input_pb2.InputResponse | None:
        """Returns the answer to a key, None if there is none. An answer of an earlier round has precedence, so that a client cannot change
        it. A new valid answer is stored."""
        for response in self.kept:
            if response.key == key and fits(response):
                return response
        for response in self.latest:
            if response.key == key and fits(response):
                self.kept = [r for r in self.kept if r.key != key] + [response]
                return response
        return None

    def ask(self, request: input_pb2.InputRequest) -> None:
        """Counts a question of this round. Unwound if another one has its key, as one answer would be that of both, or if it was asked too
        often."""
        key = request.key
        before, times = self._asked.get(key, (request, 0))
        self._asked[key] = before, times + 1
        if before != request:
            self.mistaken(f'two different questions have the key {named(key)}; give each its own, as f"sure-{{id}}"')
        if times >= MAX_REPEATS:
            self.mistaken(
                f'one round asked the question {named(key)} {MAX_REPEATS} times, and its answer stays the same; ask again under another key, as f"cups-{{attempt}}"'
            )

    def mistaken(self, what: str) -> NoReturn:
        """Ends the handler and the round with a mistake of the handler, by Unwound."""
        self.mistake = self.mistake or what
        raise Unwound()

    def step(self, key: str) -> None:
        """Begins a step of once. Unwound if this round has its value already, as its function would not be called."""
        if wrong := wrong_key("once", key):
            self.mistaken(wrong)
        if key in self._stepped:
            self.mistaken(f'once({named(key)}) came twice in one round, where the second has the value of the first; give each its own key, as f"order-{{id}}"')
        self._stepped.add(key)

    def failed(self, key: str) -> None:
        """Ends a step of once whose function raised: it may be called again."""
        self._stepped.discard(key)

    def once(self, key: str) -> str | None:
        """Returns the JSON that keep_once stored under a key, None if there is none."""
        return next((r.raw_json for r in self.kept if r.key == _ONCE + key), None)

    def keep_once(self, key: str, text: str) -> None:
        self.kept.append(input_pb2.InputResponse(key=_ONCE + key, raw_json=text))

    def memory(self, *, latest: bool = False, state: bytes | None = None) -> bytes:
        """Returns the state for the next round, with the answers that were not requested yet if latest is true. Raises ValueError above
        MAX_STATE."""
        known = {r.key for r in self.kept}
        unseen = [r for r in self.latest if r.key not in known] if latest else []
        keep = self.state if state is None else state
        marker = None if keep is None else "{}"  # distinguishes an empty state from none
        memory = tools_pb2.CallToolRequest(input_responses=[*self.kept, *unseen], state=keep, arguments_json=marker)
        text = _MARK + memory.SerializeToString()
        if len(text) > MAX_STATE:
            raise ValueError(
                f"answers and state of this call have {len(text)} bytes, above the {MAX_STATE} that survive a round; keep large data elsewhere, under Call.id"
            )
        return text


def check_requests(requests: Sequence[input_pb2.InputRequest]) -> None:
    """Raises ValueError if the questions of one round break the contract."""
    if len(requests) > MAX_REQUESTS:
        raise ValueError(f"{len(requests)} questions in one round; ask at most {MAX_REQUESTS} at once")
    seen: set[str] = set()
    for request in requests:
        if wrong := wrong_key("a question", request.key):
            raise ValueError(wrong)
        if request.key in seen:
            raise ValueError(f"two questions of one round have the key {named(request.key)}; give each its own")
        seen.add(request.key)


def named(key: str) -> str:
    """A key in messages: quoted, and bounded."""
    return json.dumps(key[:40], ensure_ascii=False)


def wrong_key(of: str, key: str) -> str | None:
    """What is wrong with a key; None: nothing is."""
    size = len(key.encode())
    return None if 0 < size <= MAX_KEY else f"the key of {of} has 1 to {MAX_KEY} bytes, not {size}: {named(key)}"


def round_trip(key: str, value: Any) -> str:
    """Encodes a value as JSON that decodes to the same value; raises TypeError if that is impossible."""
    try:
        text = encode(value)
        read = json.loads(text)
    except ValueError as e:
        raise TypeError(f"once({key!r}): {e}; return what JSON can hold") from e
    if read != value:
        raise TypeError(f"once({key!r}): {value!r:.80} changes when it is JSON; return lists, keys that are strings, model_dump(mode='json') of a model")
    return text
