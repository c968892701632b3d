"""Converts the values that tools return into results of the contract."""

import inspect
import types
import typing
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from mcpedge.v1 import tools_pb2

from .content import text
from .encoding import RawJSON
from .failure import DefinitionError, decode
from .official import KINDS, RESULT, Official, is_content_type, is_result_type
from .schema import alternatives, described
from .types import Content, Result
from .wire import content_from_wire, content_to_wire, json_text, text_to_wire

Finish = Callable[[Any], tools_pb2.CallToolResult]
_VALUE = "return structured({…}), or annotate what you return with a model or a TypedDict that has all of its members"
_LISTS = (list, tuple)
_OWN = Result.__module__
_NO_RESULT = "which is no result of a tool: return link(resource), embed(contents), other content, or a Result"


def _class(value: Any) -> Any:
    return type(value)  # pyright: ignore[reportUnknownVariableType]


@lru_cache(maxsize=1024)
def _is_result(cls: Hashable) -> bool:
    """Returns whether a class is a result. Cached, since classes are few."""
    return is_result_type(cls)


def finisher(function: str, tool: str, returns: Any, output: Any) -> tuple[Finish, dict[str, Any] | None]:
    """Returns the function that converts returned values, chosen once by the annotation, and the schema of the structured content, None if
    there is none. Raises DefinitionError for an annotation without results."""
    official = Official(f"tool {tool}", _VALUE)
    if _unschemed(returns):
        if output is None:
            listed, others = _lists_content(returns), _others(returns)
            return lambda value: by_value(official, value, listed=listed, others=others), None
        typed, schema = _typed(f"{function}: output", output)
    else:
        typed, schema = _typed(f"{function}: what it returns", returns)
    declared = set(_properties(schema))
    any_name = schema.get("additionalProperties", False) is not False

    def meant(value: Any) -> bool:
        """Whether a dict is meant as a result of MCP. Where the schema takes any name, content is one if it is content, and _meta none."""
        if not any_name:
            return _has(value, declared)
        blocks = value.get("content")
        is_content = isinstance(blocks, list | tuple) and len(blocks) > 0 and all(map(_is_block, blocks))  # pyright: ignore[reportUnknownArgumentType]
        return _has(value, declared | ({"_meta"} if is_content else {"_meta", "content"}))

    def finish(value: Any) -> tools_pb2.CallToolResult:
        if isinstance(value, Result) or _is_result(_class(value)) or (isinstance(value, dict) and meant(value)):
            result = official.result(value)
            if result.structured_content is None and not result.is_error:
                raise official.fail("no structured content, which it has an output schema for: return a Result with structured_content")
            if not result.is_error and not isinstance(result.structured_content, RawJSON):
                content = _dumped(official, typed, result.structured_content)
                result = Result(result.content, content, meta=result.meta)
            return to_wire(result)
        awaited(official, value)
        return tools_pb2.CallToolResult(structured_content_json=json_text("the result", _dumped(official, typed, value)))

    return finish, schema


def _typed(what: str, type_: Any) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    of = alternatives(type_)
    items = [a for t in of if get_origin(t) is list for a in alternatives(get_args(t)[0])]
    for t in (*of, *items):
        if getattr(t, "__module__", "") == _OWN:
            raise DefinitionError(f"{what} is {getattr(t, '__name__', t)}, {_NO_RESULT}")
    if type_ is bytes or (bytes in get_args(type_) and get_origin(type_) in (typing.Union, types.UnionType)):
        say = 'return image(data, "image/png"), audio(…) or embed(blob_contents(data, uri=…, mime_type=…)); for base64 in a value annotate it as Base64'
        raise DefinitionError(f"{what} is bytes, which say no kind: {say}")
    return described(what, lambda: type_, "serialization")


def _dumped(official: Official, typed: TypeAdapter[Any], value: Any) -> Any:
    """Returns the JSON of a value that fits the output schema. Raises Failure INTERNAL otherwise."""
    try:
        return typed.dump_python(typed.validate_python(value), mode="json", by_alias=True, warnings="error")
    except ValidationError as e:
        first = e.errors(include_url=False, include_input=False)[0]
        at = ".".join(map(str, first["loc"]))
        why = f"{at}: {first['msg']}" if at else first["msg"]
    except (PydanticSerializationError, UnicodeDecodeError) as e:
        why = " ".join(str(e).split())
    raise official.fail(f"{type(value).__name__}, which does not fit the annotation of what it returns: {why}")


def _properties(schema: Mapping[str, Any]) -> list[str]:
    """Returns the names of a schema's members, in any of its branches."""
    branches = [b for keyword in ("anyOf", "oneOf", "allOf") for b in schema.get(keyword, ())]
    return [*schema.get("properties", {}), *(name for b in branches for name in _properties(b))]


def _has(value: Any, declared: set[str]) -> bool:
    """Returns whether a dict looks like a result of MCP: it has a member of a result that its schema does not have."""
    return any(name in value and name not in declared for name in RESULT)


def _is_block(value: Any) -> bool:
    """Whether a value is content: of a class of content, or a dict with a type of it."""
    return value.get("type") in KINDS if isinstance(value, dict) else is_content_type(_class(value))  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]


def _unschemed(returns: Any) -> bool:
    """Returns whether values with this annotation are content, complete results, or converted by their type, which have no schema."""
    open_ = (None, type(None), str, Any, object, Result, list, tuple, dict, Mapping)
    return all(t in open_ or is_result_type(t) or is_content_type(t) or _listed(t) or _of_anything(t) for t in alternatives(returns))


def _others(returns: Any) -> tuple[bool, bool]:
    """Returns whether a value with this annotation may be None, and whether it may be other than text and content."""
    of = alternatives(returns)
    anything = any(t in (Any, object, list, tuple, dict, Mapping) or _of_anything(t) or _listed(t) for t in of)
    return anything or None in of or type(None) in of, anything


def _of_anything(type_: Any) -> bool:
    return get_origin(type_) in (dict, Mapping) and get_args(type_)[1] in (Any, object)


def _listed(type_: Any) -> bool:
    """Returns whether a type is a list of content, or of anything."""
    if get_origin(type_) not in _LISTS:
        return False
    of = [a for t in get_args(type_) if t is not ... for a in alternatives(t)]
    return of in ([Any], [object], [dict]) or all(map(_of_anything, of)) or _content_only(of)


def _content_only(of: list[Any]) -> bool:
    return any(is_content_type(t) for t in of) and all(t is str or is_content_type(t) for t in of)


def _lists_content(returns: Any) -> bool:
    """Returns whether a returned list is a list of content, also if it is empty."""
    lists = [t for t in alternatives(returns) if get_origin(t) in _LISTS]
    return bool(lists) and all(_content_only([a for m in get_args(t) if m is not ... for a in alternatives(m)]) for t in lists)


def awaited(official: Official, value: Any) -> None:
    """Raises Failure if a returned value contains a coroutine, which was not awaited."""
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise official.fail("an awaitable, whose work has not been done: write await before the call that makes it")


def by_value(official: Official, value: Any, *, listed: bool = False, others: tuple[bool, bool] = (True, True)) -> tools_pb2.CallToolResult:
    """Converts a value by its type. listed means that a list is one of content. others says whether the value may be None, and whether it
    may be other than text and content."""
    may_be_none, anything = others
    if value is None and may_be_none:
        return tools_pb2.CallToolResult()
    if isinstance(value, str) and not isinstance(value, RawJSON):
        return tools_pb2.CallToolResult(content=[text_to_wire(value)])
    awaited(official, value)
    if isinstance(value, bytes):
        raise official.fail('bytes, which say no kind: return image(data, "image/png"), audio(…) or embed(blob_contents(…))')
    if isinstance(value, Result) or _is_result(_class(value)):
        return to_wire(official.result(value))
    one = official.content(value)
    if one is not None:
        return to_wire(Result([one]))
    if isinstance(value, list | tuple) and (value or listed):
        found = [official.content(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        if all(c is not None for c in found):
            return to_wire(Result(typing.cast(list[Content], found)))
        if listed or any(c is not None for c in found):
            raise official.fail('a list in which some are content: write text("…") for each str')
    if _class(value).__module__ == _OWN:
        raise official.fail(f"{_class(value).__name__}, {_NO_RESULT}")
    if isinstance(value, dict) and _has(value, set()):
        return to_wire(official.result(value))
    if not anything:
        raise official.fail(f"{_class(value).__name__}, which does not fit the annotation of what it returns: return a str or content, or annotate it")
    return tools_pb2.CallToolResult(structured_content_json=json_text("the result", value))


def to_wire(result: Result) -> tools_pb2.CallToolResult:
    """Returns a result as a message of the contract. Raises Failure INTERNAL if it is invalid."""
    return tools_pb2.CallToolResult(
        content=[content_to_wire(c) for c in result.content],
        structured_content_json="" if result.structured_content is None else json_text("the result", result.structured_content),
        is_error=result.is_error,
        meta_json=json_text("the result", result.meta) if result.meta else "",
    )


def from_wire(result: tools_pb2.CallToolResult) -> Result:
    """Returns a message of the contract as a result."""
    structured = decode("structured content", result.structured_content_json) if result.structured_content_json else None
    meta = decode("_meta", result.meta_json) if result.meta_json else None
    return Result([content_from_wire(c) for c in result.content], structured, result.is_error, meta)


def error(message: str) -> tools_pb2.CallToolResult:
    """Returns a result with `isError`."""
    return to_wire(Result([text(message)], is_error=True))
