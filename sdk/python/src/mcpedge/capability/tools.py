"""The definition of tools."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict, Unpack

from mcpedge.v1 import input_pb2

from .arguments import Arguments, misfit
from .call import Call, CallBase
from .encoding import RawJSON
from .failure import DefinitionError, Failure, Reason, decode
from .registry import Entry
from .results import error, finisher
from .rounds import Work, is_coroutine_function, shown
from .schema import Options, signature_of
from .types import Tool
from .wire import duration, to_wire

_OBJECT: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


ToolEntry = Entry[input_pb2.Tool]


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


class RawToolOptions(TypedDict, total=False):
    """The options of Server.raw_tool. Hints that are None are omitted."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    tasks: Tasks


class ToolOptions(Options, RawToolOptions, total=False):
    """The options of Server.tool."""

    output: Any
    unknown_arguments: Literal["refuse", "allow"]


_HINTS = ("read_only", "destructive", "idempotent", "open_world")


def make_tool(function: Callable[..., Any], **options: Unpack[ToolOptions]) -> ToolEntry:
    """Makes a tool of a function. Raises DefinitionError with what is wrong and what to do."""
    signature = signature_of(function, Call)
    unknown = options.get("unknown_arguments", "refuse")
    if unknown not in ("refuse", "allow"):
        raise DefinitionError(f'{signature.name}: unknown_arguments is "refuse" or "allow", not {unknown!r}')
    arguments = Arguments(f"{signature.name}: a parameter", signature.params, unknown=unknown)
    said = signature.listed(options, ToolOptions.__optional_keys__)
    finish, schema = finisher(signature.name, said["name"], signature.returns, options.get("output"))
    output = json.dumps(schema) if schema is not None else ""
    listed = input_pb2.Tool(input_schema_json=json.dumps(arguments.schema), output_schema_json=output, **said)
    _hint(listed, options)
    _check_name(signature.name, listed.name)

    make = _worker(listed.name, function, finish)

    def work(text_: str, call: CallBase) -> Work:
        try:
            kwargs = arguments.read(text_)
        except ValidationError as e:
            raise Failure(Reason.INVALID_ARGUMENT, misfit(e, "argument", arguments.names)) from e
        return make(signature.arguments(kwargs, call))

    return ToolEntry(listed.name, listed, work)


def _worker(name: str, function: Callable[..., Any], finish: Callable[[Any], Any]) -> Callable[[dict[str, Any]], Work]:
    """Returns the function that creates the work of a call from its arguments."""
    what, is_async = f"tool {name}", is_coroutine_function(function)

    def plain(e: Exception) -> Any:
        return error(shown(e))

    return lambda kwargs: Work(what, function, finish, plain, kwargs=kwargs, not_found=error, is_async=is_async)


def _hint(listed: input_pb2.Tool, options: Mapping[str, Any]) -> None:
    for hint in _HINTS:
        if hint in options:
            setattr(listed.annotations, hint, options[hint])
    if "tasks" in options:
        listed.task_support.CopyFrom(options["tasks"].proto())


def make_raw_tool(function: Callable[..., Any], tool: Tool, **options: Unpack[RawToolOptions]) -> ToolEntry:
    """Makes a tool with the given schemas, whose handler gets the arguments as a dict or RawJSON, and the Call if it has a parameter for
    it."""
    signature = signature_of(function, Call)
    for option in options:
        if option not in RawToolOptions.__optional_keys__:
            raise DefinitionError(f"{signature.name}: there is no option {option!r}, only {', '.join(sorted(RawToolOptions.__optional_keys__))}")
    if len(signature.params) != 1:
        raise DefinitionError(f"{signature.name}: it takes the arguments as one dict, not {len(signature.params)} parameters")
    listed: input_pb2.Tool = to_wire(tool)
    for what in ("input_schema", "output_schema", "meta"):
        value = getattr(listed, what + "_json")
        try:
            if not _OBJECT.validate_json(value or "{}") and what == "input_schema":
                listed.input_schema_json = ""
        except ValidationError:
            raise DefinitionError(f"{signature.name}: {what} of the tool {tool.name!r} must be a JSON object, not {value[:80]!r}") from None
    _hint(listed, options)
    _check_name(signature.name, tool.name)
    finish, _ = finisher(signature.name, tool.name, Any, None)
    ((name, param),) = signature.params.items()
    make = _worker(tool.name, function, finish)

    def work(text_: str, call: CallBase) -> Work:
        given = RawJSON(text_ or "{}") if param.type is RawJSON else decode("the arguments", text_)
        return make(signature.arguments({name: given}, call))

    return ToolEntry(tool.name, listed, work)


def _check_name(function: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise DefinitionError(f"{function}: the tool's name {name!r} must be 1 to 64 of A-Z a-z 0-9 _ . -; give it one by name=")
