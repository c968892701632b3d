"""JSON Schemas of Python types, and conversion of values, by pydantic."""

import inspect
import json
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

import docstring_parser
from pydantic import BaseModel, Field, TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from typing_extensions import TypedDict

from .base64bytes import in_base64
from .failure import DefinitionError
from .types import Annotations, Icon
from .wire import to_wire


class Untitled(GenerateJsonSchema):
    """Omits the titles that pydantic derives from the names of fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def described(
    what: str, make: Callable[[], Any], mode: JsonSchemaMode = "validation", generator: type[GenerateJsonSchema] = Untitled
) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    """Returns the adapter of a type that make returns, and its schema. Raises DefinitionError, which begins with the subject, if it has
    none."""
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(make())
        schema = adapter.json_schema(mode=mode, schema_generator=generator)
        schema.pop("title", None)
        whole = inlined(schema, schema.pop("$defs", {}))
        if _has_bytes(whole):
            raise TypeError("it has bytes, which are no text; annotate them as Base64 of mcpedge.capability")
        return adapter, whole
    except (PydanticUserError, TypeError, ValueError) as e:
        why = str(e).partition("\n\nFor further information")[0]
        raise DefinitionError(f"{what} has a type without a JSON Schema; use what JSON has, pydantic models or dataclasses: {why}") from e


def _has_bytes(schema: Any) -> bool:
    """Returns whether a schema contains bytes that would be read and written as UTF-8."""
    if isinstance(schema, list):
        return any(map(_has_bytes, many(schema)))
    if not isinstance(schema, dict):
        return False
    members: dict[str, Any] = schema  # pyright: ignore[reportUnknownVariableType]
    return (members.get("type"), members.get("format")) == ("string", "binary") or any(map(_has_bytes, members.values()))


def inlined(schema: Any, definitions: Mapping[str, Any], within: tuple[str, ...] = ()) -> Any:
    """Returns a schema without references. A recursive object is any object inside itself, and another recursive type is any value."""
    if isinstance(schema, list):
        return [inlined(item, definitions, within) for item in many(schema)]
    if not isinstance(schema, dict):
        return schema
    members: dict[str, Any] = schema  # pyright: ignore[reportUnknownVariableType]
    made = {k: inlined(v, definitions, within) for k, v in members.items() if k != "discriminator" or not isinstance(v, dict) or "mapping" not in v}
    name = str(members.get("$ref")).removeprefix("#/$defs/")
    if name not in definitions:
        return made
    named = {k: v for k, v in definitions[name].items() if (k, v) != ("title", name)}
    if name in within:
        named = {"description": f"a {name} as above", **({"type": "object"} if named.get("type") == "object" else {})}
    return {**inlined(named, definitions, (*within, name)), **{k: v for k, v in made.items() if k != "$ref"}}


@dataclass(frozen=True)
class Param:
    """A parameter of a handler, or a field of a form."""

    type: Any
    default: Any = ...
    """The default; ... if there is none."""
    description: str = ""

    def field(self, name: str) -> tuple[Any, Any]:
        """Returns the field for a model, with the name and the description, which a Field of the parameter overrides."""
        metadata = getattr(self.type, "__metadata__", ())
        said = [m for m in (*metadata, self.default) if isinstance(m, FieldInfo)]
        given: dict[str, Any] = {}
        if all(m.alias is None for m in said):
            given["alias"] = name
        description = next((m for m in metadata if isinstance(m, str)), self.description)
        if description and all(m.description is None for m in said):
            given["description"] = description
        return Annotated[in_base64(self.type), Field(**given)], self.default


@dataclass(frozen=True)
class Signature:
    """The signature of a handler."""

    function: Callable[..., Any]
    name: str
    doc: str
    """The docstring without the descriptions of parameters."""
    params: dict[str, Param]
    """The parameters by name, without the Call."""
    call: str | None
    """The name of the parameter that receives the Call, None if there is none."""
    returns: Any

    def listed(self, options: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
        """Returns the options and the description of the function, as fields of the contract's lists. Raises DefinitionError if it has no
        name, or if an option is unknown."""
        for option in options:
            if option not in known:
                say = _ELSEWHERE.get(option) or f"known are {', '.join(sorted(known))}"
                raise DefinitionError(f"{self.name}: there is no option {option!r}: {say}")
        said = {k: v for k, v in options.items() if k in ("title", "description", "mime_type")}
        if "icons" in options:
            said["icons"] = [to_wire(icon) for icon in options["icons"]]
        if isinstance(options.get("annotations"), Annotations):
            said["annotations"] = to_wire(options["annotations"])
        name = options.get("name") or getattr(self.function, "__name__", "")
        if not name:
            raise DefinitionError(f"{self.name}: it has no name; give it one by name=")
        meta = object_json(f"{self.name}: its meta", options["meta"]) if "meta" in options else ""
        return {"description": self.doc, **said, "name": name, "meta_json": meta}

    def arguments(self, values: Mapping[str, Any], call: Any) -> dict[str, Any]:
        """Returns the arguments for a call of the function: the values, and the Call if it has a parameter for it."""
        return {**values, self.call: call} if self.call else dict(values)


_ELSEWHERE = {
    "annotations": "write read_only, destructive, idempotent and open_world",
    "output_schema": "annotate what the function returns, or give a type as output",
    "structured_output": "annotate what the function returns: str and content have no structured content",
    "task": 'write tasks=Tasks("optional")',
    "uri": "the URI is the first argument, by its place",
}
"""What to write instead of options of the official SDK and of FastMCP, for errors."""


class Options(TypedDict, total=False):
    """The options of all handlers."""

    name: str
    title: str
    description: str
    icons: Sequence[Icon]
    meta: dict[str, Any]


def name_of(function: Callable[..., Any]) -> str:
    """Returns the name of a handler in messages."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def signature_of(function: Callable[..., Any], call_type: type) -> Signature:
    """Returns the signature of a handler. Raises DefinitionError if an annotation is missing, or a parameter has a kind that is not
    supported."""
    if inspect.isclass(function):
        raise DefinitionError(f"{name_of(function)}: it is a class; pass a function, or an object with __call__")
    target = function if inspect.isroutine(function) else type(function).__call__
    name = name_of(function)
    try:
        hints = typing.get_type_hints(target, include_extras=True)
    except NameError as e:
        raise DefinitionError(f"{name}: an annotation cannot be resolved ({e}); define its type at the module's level, before the function") from e
    params: dict[str, Param] = {}
    call = None
    doc, explained = _docstring(inspect.getdoc(function) or "")
    for param in inspect.signature(function).parameters.values():
        if param.kind not in (param.POSITIONAL_OR_KEYWORD, param.KEYWORD_ONLY):
            raise DefinitionError(f"{name}: the parameter {param} cannot be filled; use parameters with names")
        if param.name not in hints and param.name in ("self", "cls"):
            raise DefinitionError(f"{name}: it is a method without its object; make it known by server.tool(object.{name.rpartition('.')[2]}) afterwards")
        if param.name not in hints:
            raise DefinitionError(f"{name}: the parameter {param.name!r} has no annotation; add one, as {param.name}: str")
        if getattr(hints[param.name], "__name__", "") == "Context" and hints[param.name] is not call_type:
            raise DefinitionError(
                f"{name}: {param.name!r} takes a Context, which is another library's; annotate it as Call, or as AsyncCall of an async function"
            )
        if call_type in alternatives(hints[param.name]):
            if call is not None:
                raise DefinitionError(f"{name}: {call!r} and {param.name!r} both take the Call; leave one out")
            call = param.name
            continue
        default = ... if param.default is param.empty else param.default
        params[param.name] = Param(hints[param.name], default, explained.get(param.name, ""))
    if "return" not in hints:
        raise DefinitionError(f"{name}: it has no annotation of what it returns; add one, as -> str, or -> None")
    if inspect.isasyncgenfunction(target) or inspect.isgeneratorfunction(target):
        raise DefinitionError(f"{name}: it is a generator; return the result, and report progress by the Call")
    return Signature(function, name, doc, params, call, hints["return"])


def object_json(what: str, value: Any) -> str:
    """Returns the JSON of an object. Raises DefinitionError, which begins with the subject, for other values."""
    try:
        if isinstance(value, dict):
            return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        pass
    raise DefinitionError(f"{what} must be an object that JSON can hold, not {value!r:.80}")


def is_model(cls: Any) -> bool:
    """Returns whether a type is a class of pydantic. Python 3.10 treats list[int] as a type, too."""
    return isinstance(cls, type) and get_origin(cls) is None and issubclass(cls, BaseModel)


def many(value: Any) -> list[Any]:
    """Returns a list unchanged, and another value as a list of one."""
    return value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]


def alternatives(type_: Any) -> list[Any]:
    """Returns the members of a union, without their Annotated metadata."""
    if get_origin(type_) is Annotated:
        return alternatives(get_args(type_)[0])
    if get_origin(type_) in (typing.Union, types.UnionType):
        return [a for t in get_args(type_) for a in alternatives(t)]
    return [type_]


def check_returns(signature: Signature, allowed: Callable[[Any], bool], say: str) -> None:
    """Raises DefinitionError unless the return annotation, or each of its alternatives, is allowed."""
    for alternative in alternatives(signature.returns):
        if alternative is not Any and not allowed(alternative):
            raise DefinitionError(f"{signature.name}: it returns {alternative}; return {say}")


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """Returns the descriptions of the function and of its parameters in a docstring in the style of Google, Sphinx or NumPy."""
    parsed = docstring_parser.parse(text)
    return (parsed.description or "").strip(), {p.arg_name.lstrip("*"): " ".join((p.description or "").split()) for p in parsed.params}


def header(name: str) -> FieldInfo:
    """Annotates an argument that is also sent in the HTTP header Mcp-Param-name. MCP: x-mcp-header."""
    made: FieldInfo = Field(json_schema_extra={"x-mcp-header": name})
    return made
