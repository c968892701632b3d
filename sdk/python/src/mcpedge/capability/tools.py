"""Tools: what one is made of."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from typing_extensions import Unpack

from mcpedge.v1 import input_pb2, tools_pb2

from .call import Call
from .content import Result, text
from .encoding import RawJSON, encode
from .failure import DefinitionError, Failure, Reason, decode
from .registry import Entry
from .rounds import Work
from .schema import Arguments, Options, described, many, misfit, signature_of
from .types import Content, Tool, duration

Finish = Callable[[Any], tools_pb2.CallToolResult]
_OBJECT: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


ToolEntry = Entry[Tool]


@dataclass(frozen=True)
class Tasks:
    """Which calls of a tool become tasks. Clients need not keep a connection for a task. MCP: execution.taskSupport."""

    mode: Literal["optional", "required"] = "optional"
    """optional: calls of clients that support tasks. required: all; the edge refuses calls of other clients."""
    start: Literal["at_once", "deferred"] | None = None
    """at_once: before the handler runs; the default of required. deferred: after the handler has run for a while, or by
    Call.defer; the default of optional."""
    poll: float | None = None
    """The interval at which clients should poll a task, in seconds, 0.1 to 3600. None lets the edge choose."""

    def proto(self) -> input_pb2.TaskSupport:
        start = "TASK_START_" + (self.start or "unspecified").upper()
        poll = None if self.poll is None else duration(self.poll)
        return input_pb2.TaskSupport(mode="TASK_MODE_" + self.mode.upper(), start=start, poll_interval=poll)


class ToolOptions(Options, total=False):
    """The options of Server.tool; hints that are missing are not said."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    output: Any
    tasks: Tasks


_HINTS = ("read_only", "destructive", "idempotent", "open_world")


def make_tool(function: Callable[..., Any], **options: Unpack[ToolOptions]) -> ToolEntry:
    """Makes a tool of a function. DefinitionError says what is wrong with it, and what to do."""
    signature = signature_of(function, Call)
    arguments = Arguments(f"{signature.name}: a parameter", signature.params)
    finish, schema = _finisher(signature.name, signature.returns, options.get("output"))
    output = json.dumps(schema) if schema is not None else ""
    listed = Tool(input_schema_json=json.dumps(arguments.schema), output_schema_json=output, **signature.listed(options, ToolOptions.__optional_keys__))
    for hint in _HINTS:
        if hint in options:
            setattr(listed.annotations, hint, options[hint])  # type: ignore[literal-required]
    if "tasks" in options:
        listed.task_support.CopyFrom(options["tasks"].proto())
    _check_name(signature.name, listed.name)

    def work(text_: str, call: Call) -> Work:
        try:
            kwargs = arguments.read(text_)
        except ValidationError as e:
            raise Failure(Reason.INVALID_ARGUMENT, misfit(e, "argument")) from e
        return Work(f"tool {listed.name}", function, finish, plain_error, kwargs=signature.arguments(kwargs, call))

    return ToolEntry(listed.name, listed, work)


def make_raw_tool(function: Callable[..., Any], tool: Tool) -> ToolEntry:
    """Makes a tool as described, schemas as they are, whose handler gets the arguments as a dict, or as RawJSON, and the Call if it takes one."""
    signature = signature_of(function, Call)
    if len(signature.params) != 1:
        raise DefinitionError(f"{signature.name}: it takes the arguments as one dict, not {len(signature.params)} parameters")
    for what in ("input_schema_json", "output_schema_json", "meta_json"):
        value = getattr(tool, what)
        try:
            _OBJECT.validate_json(value or "{}")
        except ValidationError:
            raise DefinitionError(f"{signature.name}: {what} of the tool {tool.name!r} must be a JSON object, not {value[:80]!r}") from None
    _check_name(signature.name, tool.name)
    finish, _ = _finisher(signature.name, signature.returns, None)
    ((name, param),) = signature.params.items()

    def work(text_: str, call: Call) -> Work:
        given = RawJSON(text_ or "{}") if param.type is RawJSON else decode("the arguments", text_)
        return Work(f"tool {tool.name}", function, finish, plain_error, kwargs=signature.arguments({name: given}, call))

    return ToolEntry(tool.name, tool, work)


def _check_name(function: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise DefinitionError(f"{function}: the tool's name {name!r} must be 1 to 64 of A-Z a-z 0-9 _ . -; give it one by name=")


def _finisher(function: str, returns: Any, output: Any) -> tuple[Finish, dict[str, Any] | None]:
    """What makes a result of a returned value, chosen once by the annotation, and the schema of the structured content; None:
    there is none."""
    listed = get_origin(returns) is list and get_args(returns) == (Content,)
    if returns in (str, Content, Result, None, type(None), Any) or listed:
        if output is None:
            return finish_any, None
        return finish_any, described(f"{function}: output", lambda: output, "serialization")[1]
    typed, schema = described(f"{function}: what it returns", lambda: returns, "serialization")

    def finish(value: Any) -> tools_pb2.CallToolResult:
        return tools_pb2.CallToolResult(structured_content_json=_encoded(typed.dump_python(value, mode="json", by_alias=True, warnings="error")))

    return finish, schema


def finish_any(value: Any) -> tools_pb2.CallToolResult:
    """The result of a value by what it is."""
    if value is None:
        return tools_pb2.CallToolResult()
    if isinstance(value, str):
        return tools_pb2.CallToolResult(content=[text(value)])
    if value != [] and all(isinstance(item, Content) for item in many(value)):
        return tools_pb2.CallToolResult(content=many(value))
    if isinstance(value, Result):
        return tools_pb2.CallToolResult(
            content=value.content,
            structured_content_json="" if value.structured is None else _encoded(value.structured),
            is_error=value.is_error,
            meta_json=_encoded(value.meta) if value.meta else "",
        )
    return tools_pb2.CallToolResult(structured_content_json=_encoded(value))


def _encoded(value: Any) -> str:
    """JSON of a result's part. Failure INTERNAL when it has none."""
    try:
        return encode(value)
    except ValueError as e:
        raise Failure(Reason.INTERNAL, f"the result is not JSON: {e}") from e


def plain_error(error: Exception) -> tools_pb2.CallToolResult:
    """An exception without a kind is for the model to see."""
    return tools_pb2.CallToolResult(content=[text(str(error) or type(error).__name__)], is_error=True)
