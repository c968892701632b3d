"""Questions to the client, and the decoding of answers."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, overload

from mcpedge.v1 import input_pb2
from mcpedge.v1.input_pb2 import InputRequest, InputResponse

from .failure import Declined, DefinitionError, Dismissed, Unanswered, decode
from .forms import FormSpec, fields_of, form_of, raw_form
from .types import Root, SamplingMessage, SamplingRequest, SamplingResult
from .wire import from_wire, sampled_from_wire, to_wire

T = TypeVar("T")


@dataclass(frozen=True)
class Question(Generic[T]):
    """A question under a key, which is unique within the call. form, form_schema, open_url, sampling, list_roots and raw_question create
    one; Call.ask_all asks several at once."""

    request: InputRequest
    read: Callable[[InputResponse], T]
    """Decodes the answer. Raises Declined or Dismissed for such answers of the user, and another ValueError for an invalid answer."""

    @property
    def key(self) -> str:
        """The key of the question."""
        return self.request.key

    def fits(self, response: InputResponse) -> bool:
        """Returns whether an answer is valid for this question."""
        try:
            self.read(response)
        except Unanswered:
            return True
        except (ValueError, ArithmeticError):  # infinity is no multiple of anything
            return False
        return True


@dataclass(frozen=True)
class ElicitResult:
    """The user's answer to a form. MCP: ElicitResult."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any]
    """The completed form, empty unless the action is accept."""

    def accepted(self) -> dict[str, Any]:
        """Returns the content. Raises Declined or Dismissed if the user did not accept."""
        if self.action == "accept":
            return self.content
        raise Declined() if self.action == "decline" else Dismissed()


@overload
def form(key: str, message: str, form: type[T], /) -> Question[T]: ...
@overload
def form(key: str, message: str, form: Any, /) -> Question[Any]: ...
@overload
def form(key: str, message: str, /, **fields: Any) -> Question[dict[str, Any]]: ...
def form(key: str, message: str, form: Any = None, /, **fields: Any) -> Question[Any]:
    """Returns the question of Call.ask."""
    if (form is None) == (not fields):
        raise DefinitionError(f"the question {key!r}: give either the form's type, or its fields as name=type")
    spec = fields_of(fields) if fields else form_of(form, key)
    return Question(_form_request(key, message, spec), lambda r: spec.read(_content(r)))


def form_schema(key: str, message: str, schema: str | dict[str, Any]) -> Question[ElicitResult]:
    """Returns the question of Call.ask_form."""
    spec = raw_form(schema)

    def read(response: InputResponse) -> ElicitResult:
        try:
            return ElicitResult("accept", spec.read(_content(response)))
        except Declined:
            return ElicitResult("decline", {})
        except Dismissed:
            return ElicitResult("cancel", {})

    return Question(_form_request(key, message, spec), read)


def open_url(key: str, message: str, url: str) -> Question[None]:
    """Returns the question of Call.ask_url."""
    request = InputRequest(key=key, elicit_url=input_pb2.ElicitUrl(message=message, url=url))

    def read(response: InputResponse) -> None:
        _content(response)

    return Question(request, read)


def sampling(key: str, request: SamplingRequest | str | Sequence[SamplingMessage], *, max_tokens: int = 1000, **more: Any) -> Question[SamplingResult]:
    """Returns the question of Call.sample."""
    if isinstance(request, str):
        request = [SamplingMessage("user", request)]
    if not isinstance(request, SamplingRequest):
        request = SamplingRequest(request, max_tokens, **more)

    def read(response: InputResponse) -> SamplingResult:
        if not response.create_message.content:
            raise ValueError("the model said nothing")
        return sampled_from_wire(response.create_message)

    return Question(InputRequest(key=key, create_message=to_wire(request)), read)


def list_roots(key: str) -> Question[list[Root]]:
    """Returns the question of Call.roots."""

    def read(response: InputResponse) -> list[Root]:
        if not response.HasField("list_roots"):
            raise ValueError("there are no roots")
        return [from_wire(root) for root in response.list_roots.roots]

    return Question(InputRequest(key=key, list_roots=input_pb2.ListRoots()), read)


def raw_question(key: str, request: dict[str, Any]) -> Question[Any]:
    """Returns the question of another request that the client may support: an object with `method` and `params`. The answer is the client's
    result."""
    return Question(InputRequest(key=key, raw_json=json.dumps(request)), lambda response: decode("the answer", response.raw_json))


def _form_request(key: str, message: str, spec: FormSpec) -> InputRequest:
    return InputRequest(key=key, elicit_form=input_pb2.ElicitForm(message=message, requested_schema_json=spec.schema))


def _content(response: InputResponse) -> str:
    """Returns the form that the user completed, as JSON."""
    action = response.elicit.action
    if action == input_pb2.ELICIT_ACTION_DECLINE:
        raise Declined()
    if action == input_pb2.ELICIT_ACTION_CANCEL:
        raise Dismissed()
    if action != input_pb2.ELICIT_ACTION_ACCEPT:
        raise ValueError("no action")
    return response.elicit.content_json or "{}"
