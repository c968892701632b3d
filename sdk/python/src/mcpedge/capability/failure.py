"""The errors that end a call."""

import json
from collections.abc import Sequence
from enum import Enum
from typing import Any

import grpc

from mcpedge.v1 import common_pb2

from .encoding import encode, valid


class DefinitionError(TypeError):
    """A handler whose definition is invalid. It is raised when the handler is added."""


class Reason(Enum):
    """The reason of a Failure. For a tool, the model sees INVALID_ARGUMENT, FAILED_PRECONDITION and NOT_FOUND as a result with `isError`;
    all others are protocol errors."""

    INVALID_ARGUMENT = common_pb2.FAILURE_REASON_INVALID_ARGUMENT
    NOT_FOUND = common_pb2.FAILURE_REASON_NOT_FOUND
    FAILED_PRECONDITION = common_pb2.FAILURE_REASON_FAILED_PRECONDITION
    PERMISSION_DENIED = common_pb2.FAILURE_REASON_PERMISSION_DENIED
    RESOURCE_EXHAUSTED = common_pb2.FAILURE_REASON_RESOURCE_EXHAUSTED
    UNAVAILABLE = common_pb2.FAILURE_REASON_UNAVAILABLE
    DEADLINE_EXCEEDED = common_pb2.FAILURE_REASON_DEADLINE_EXCEEDED
    INTERNAL = common_pb2.FAILURE_REASON_INTERNAL


class Failure(Exception):
    """Ends a call with a reason. The message says what was wrong, with which value, and what to do.

    data is any JSON value for the error's `data`; None means none. scopes are, with PERMISSION_DENIED, the OAuth scopes
    that the caller lacks: at most 32 of at most 256 bytes; a client that gets an access token with them can call again.
    """

    def __init__(self, reason: Reason, message: str, *, data: Any = None, scopes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.data = data
        self.scopes = tuple(scopes)

    def proto(self) -> common_pb2.Failure:
        """The failure as a message of the contract."""
        message, reason, data = self.message, self.reason, ""
        if self.data is not None:
            try:
                data = encode(self.data)
            except ValueError as e:
                reason, message = Reason.INTERNAL, f"{message} (and the failure's data is not JSON: {e})"
        return common_pb2.Failure(reason=reason.value, message=valid(message), data_json=data, scopes=self.scopes)

    @property
    def code(self) -> grpc.StatusCode:
        """The status for RPCs that cannot return a Failure."""
        return grpc.StatusCode[self.reason.name]


def lacks_scopes(*scopes: str) -> Failure:
    """Returns the failure of a caller that lacks OAuth scopes. Raise it."""
    needed = " ".join(scopes)
    message = f"this needs the scopes {needed}: get an access token that has them"
    return Failure(Reason.PERMISSION_DENIED, message, scopes=scopes)


class Unanswered(Exception):
    """A question that the user did not answer: Declined or Dismissed."""


class Declined(Unanswered):
    """The user said no."""

    def __init__(self) -> None:
        super().__init__("the user declined to answer")


class Dismissed(Unanswered):
    """The user closed the question without a choice, or the client could not show it."""

    def __init__(self) -> None:
        super().__init__("the user dismissed the question")


class StatusError(Exception):
    """Ends an RPC with a gRPC status."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def decode(what: str, text: str) -> Any:
    """Decodes the JSON of a request, {} if it is empty. Raises Failure INVALID_ARGUMENT if Python cannot decode it, such as a number of
    more than 4,300 digits."""
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError) as e:
        why = str(e).partition("; use ")[0]  # without advice to who runs the program
        raise Failure(Reason.INVALID_ARGUMENT, f"{what} cannot be read: {why}") from e


def quote(name: str) -> str:
    """Returns a name from a request, shortened if it is long."""
    return json.dumps(name[:200], ensure_ascii=False)


def not_found(uri: str) -> Failure:
    """Returns the failure of a read of a resource that does not exist."""
    return Failure(Reason.NOT_FOUND, f"there is no resource {quote(uri)}")
