"""What a call remembers from one of its rounds to the next."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from google.protobuf.message import DecodeError

from mcpedge.v1 import tools_pb2

from .encoding import encode
from .failure import Failure, Reason
from .types import InputRequest, InputResponse

MAX_STATE = 64 << 10
"""Bytes of one state."""
MAX_REQUESTS = 16
MAX_KEY = 128
"""Bytes of a key."""
_MARK = b"\x00capability\x01"
_ONCE = "\x00once:"


class Unwound(BaseException):
    """Ends a handler whose question has no answer yet. Whoever catches it changes nothing: the call has recorded it."""


class InputRequired(Exception):
    """An outcome for handlers that keep their own account of the rounds: raised, it ends the round as it says. Handlers that
    ask through the Call never need it. MCP: InputRequiredResult.

    requests are asked all at once, at most 16. state comes back in Call.state; None keeps that of Call.set_state.
    retry_after, with no requests, is when to call again, in seconds, at most 3600; 0: soon. repeatable: the next round may
    be run again with the state when the edge's replica is lost, whatever the tool says of itself.
    """

    def __init__(self, requests: Sequence[InputRequest] = (), *, state: bytes | None = None, retry_after: float = 0, repeatable: bool = False) -> None:
        super().__init__(f"input required: {len(requests)} requests")
        self.requests = list(requests)
        self.state = state
        self.retry_after = retry_after
        self.repeatable = repeatable


class Answers:
    """The client's answers so far, and what this round found missing. Not safe for concurrent use."""

    def __init__(self, responses: Sequence[InputResponse], state: bytes) -> None:
        """Failure INVALID_ARGUMENT when the state is not of this library."""
        self.kept: list[InputResponse] = []
        self.latest = [r for r in responses if not r.key.startswith(_ONCE)]
        self.missing: dict[str, InputRequest] = {}
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

    def find(self, key: str, fits: Callable[[InputResponse], bool]) -> InputResponse | None:
        """The answer to a key: one kept from earlier rounds first, so that a client cannot change what it said. A new one
        that fits is kept."""
        for response in self.kept:
            if response.key == key and fits(response):
                return response
        for response in self.latest:
            if response.key == key and fits(response):
                self.kept = [r for r in self.kept if r.key != key] + [response]
                return response
        return None

    def once(self, key: str) -> str | None:
        """The JSON that was kept under a key by keep_once; None: none was."""
        return next((r.raw_json for r in self.kept if r.key == _ONCE + key), None)

    def keep_once(self, key: str, text: str) -> None:
        self.kept.append(InputResponse(key=_ONCE + key, raw_json=text))

    def memory(self, *, latest: bool = False, state: bytes | None = None) -> bytes:
        """The state that all of it is kept in, with the answers that nobody has looked at yet where latest is true.
        ValueError above MAX_STATE."""
        known = {r.key for r in self.kept}
        unseen = [r for r in self.latest if r.key not in known] if latest else []
        keep = self.state if state is None else state
        marker = None if keep is None else "{}"  # tells an empty state from none
        memory = tools_pb2.CallToolRequest(input_responses=[*self.kept, *unseen], state=keep, arguments_json=marker)
        text = _MARK + memory.SerializeToString()
        if len(text) > MAX_STATE:
            raise ValueError(
                f"answers and state of this call have {len(text)} bytes, above the {MAX_STATE} that survive a round; keep large data elsewhere, under Call.id"
            )
        return text


def check_requests(requests: Sequence[InputRequest]) -> None:
    """ValueError when the questions of one round break the contract."""
    if len(requests) > MAX_REQUESTS:
        raise ValueError(f"{len(requests)} questions in one round; ask at most {MAX_REQUESTS} at once")
    seen: set[str] = set()
    for request in requests:
        size = len(request.key.encode())
        if not 0 < size <= MAX_KEY:
            raise ValueError(f"the key of a question has 1 to {MAX_KEY} bytes, not {size}: {request.key[:40]!r}")
        if request.key in seen:
            raise ValueError(f"two questions of one round have the key {request.key!r}; give each its own")
        seen.add(request.key)


def round_trip(key: str, value: Any) -> str:
    """JSON of a value that is the same when it is read again; TypeError when there is none."""
    try:
        text = encode(value)
        read = json.loads(text)
    except ValueError as e:
        raise TypeError(f"once({key!r}): {e}; return what JSON can hold") from e
    if read != value:
        raise TypeError(f"once({key!r}): {value!r:.80} changes when it is JSON; return lists, keys that are strings, model_dump(mode='json') of a model")
    return text
