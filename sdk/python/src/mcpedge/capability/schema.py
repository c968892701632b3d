"""JSON Schemas of Python types, and values by them. pydantic makes both."""

import inspect
import json
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, get_args, get_origin

import docstring_parser
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from typing_extensions import TypedDict

from .failure import DefinitionError
from .types import Icon


class Untitled(GenerateJsonSchema):
    """Leaves out the titles that pydantic makes of the names of fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def described(
    what: str, make: Callable[[], Any], mode: JsonSchemaMode = "validation", generator: type[GenerateJsonSchema] = Untitled
) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    """What reads or writes the type that make makes, and its schema. DefinitionError with the subject when it has none."""
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(make())
        schema = adapter.json_schema(mode=mode, schema_generator=generator)
        schema.pop("title", None)
        return adapter, inlined(schema, schema.pop("$defs", {}))
    except (PydanticUserError, TypeError, ValueError) as e:
        why = str(e).partition("\n\nFor further information")[0]
        raise DefinitionError(f"{what} has a type without a JSON Schema; use what JSON has, pydantic models or dataclasses: {why}") from e


def inlined(schema: Any, definitions: Mapping[str, Any], within: tuple[str, ...] = ()) -> Any:
    """A schema with its references written out, for those who take none. Inside itself, an object is any object, and what else refers to itself
    is anything."""
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


def parse(adapter: TypeAdapter[Any], text: str) -> Any:
    """Reads JSON by a type: a string is no number, and 3.0 is an integer. ValidationError when it does not fit."""
    try:
        return adapter.validate_json(text, strict=True)
    except ValidationError as misfit:
        try:
            whole = json.dumps(json.loads(text, parse_float=_number))
        except ValueError:
            raise misfit from None
        return adapter.validate_json(whole, strict=True)


def _number(text: str) -> int | float:
    value = Decimal(text)
    return int(value) if value.adjusted() < 20 and value == value.to_integral_value() else float(value)


def misfit(error: ValidationError, what: str) -> str:
    """The errors of a value in one line, for its sender."""
    first = error.errors(include_url=False, include_input=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    if not name:
        return f"the {what}s do not fit: {first['msg']}"
    if first["type"] == "missing":
        return f'the {what} "{name}" is missing; it is required'
    return f'the {what} "{name}" does not fit: {first["msg"]}'


@dataclass(frozen=True)
class Param:
    """A parameter of a handler, or a field of a form."""

    type: Any
    default: Any = ...
    """...: there is none."""
    description: str = ""

    def field(self, name: str) -> tuple[Any, Any]:
        """The field of a model with the name and the description, unless a Field of its own says otherwise."""
        said = [m for m in (*getattr(self.type, "__metadata__", ()), self.default) if isinstance(m, FieldInfo)]
        given: dict[str, Any] = {}
        if all(m.alias is None for m in said):
            given["alias"] = name
        if self.description and all(m.description is None for m in said):
            given["description"] = self.description
        return Annotated[self.type, Field(**given)], self.default


@dataclass(frozen=True)
class Signature:
    """What is known of a handler by its definition."""

    function: Callable[..., Any]
    name: str
    doc: str
    """The docstring without what it says of parameters."""
    params: dict[str, Param]
    """The parameters by their names, but for the call's."""
    call: str | None
    """The parameter that takes the Call; None: there is none."""
    returns: Any

    def listed(self, options: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
        """What options and the function say of it, as the contract's lists have it. DefinitionError when it has no name, or an option that is not known."""
        for option in options:
            if option not in known:
                raise DefinitionError(f"{self.name}: there is no option {option!r}, only {', '.join(sorted(known))}")
        said = {k: v for k, v in options.items() if k in ("title", "description", "icons", "annotations", "mime_type")}
        name = options.get("name") or getattr(self.function, "__name__", "")
        if not name:
            raise DefinitionError(f"{self.name}: it has no name; give it one by name=")
        meta = object_json(f"{self.name}: its meta", options["meta"]) if "meta" in options else ""
        return {"description": self.doc, **said, "name": name, "meta_json": meta}

    def arguments(self, values: Mapping[str, Any], call: Any) -> dict[str, Any]:
        """What the function is called with: these values, and the Call if it takes one."""
        return {**values, self.call: call} if self.call else dict(values)


class Options(TypedDict, total=False):
    """The options of all handlers."""

    name: str
    title: str
    description: str
    icons: Sequence[Icon]
    meta: dict[str, Any]


def name_of(function: Callable[..., Any]) -> str:
    """What messages call a handler."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def signature_of(function: Callable[..., Any], call_type: type) -> Signature:
    """Reads a handler. DefinitionError when something is not annotated, or a kind of parameter cannot be filled."""
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
        if param.name not in hints:
            raise DefinitionError(f"{name}: the parameter {param.name!r} has no annotation; add one, as {param.name}: str")
        if hints[param.name] is call_type:
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
    """JSON of an object. DefinitionError with the subject when it is none, or has none."""
    try:
        if isinstance(value, dict):
            return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        pass
    raise DefinitionError(f"{what} must be an object that JSON can hold, not {value!r:.80}")


def many(value: Any) -> list[Any]:
    """A returned list, or a list of what else was returned."""
    return value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]


def check_returns(signature: Signature, allowed: Sequence[Any], say: str) -> None:
    """DefinitionError unless what the function returns, or each of its alternatives, is among those allowed."""
    union = get_origin(signature.returns) in (typing.Union, types.UnionType)
    for alternative in get_args(signature.returns) if union else (signature.returns,):
        if alternative is not Any and alternative not in allowed:
            raise DefinitionError(f"{signature.name}: it returns {alternative}; return {say}")


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """What a docstring says of the function, and of its parameters: in the style of Google, of Sphinx or of NumPy."""
    parsed = docstring_parser.parse(text)
    return (parsed.description or "").strip(), {p.arg_name.lstrip("*"): " ".join((p.description or "").split()) for p in parsed.params}


class Arguments:
    """The arguments of a handler: their schema, and how they are read."""

    def __init__(self, what: str, params: Mapping[str, Param], *, texts: bool = False) -> None:
        """DefinitionError, which begins with what they are, when one has no schema, or with texts, which all come as, is a list or an object."""
        self._names = list(params)
        fields: dict[str, Any] = {f"argument_{i}": param.field(name) for i, (name, param) in enumerate(params.items())}
        config = ConfigDict(protected_namespaces=(), populate_by_name=False, allow_inf_nan=False)
        self._adapter, self.schema = described(what, lambda: create_model("Arguments", __config__=config, **fields))
        for name, said in self.schema.get("properties", {}).items() if texts else ():
            kinds = [s.get("type") for s in (said, *said.get("anyOf", ()))]
            if "array" in kinds or "object" in kinds:
                raise DefinitionError(f"{what} cannot be read from a text, {name!r}, a list or an object; use str, a number, bool or an enumeration")

    def read(self, text: str) -> dict[str, Any]:
        """Arguments by the names of the parameters. ValidationError when they do not fit."""
        return self._by_name(parse(self._adapter, text or "{}"))

    def read_strings(self, values: Mapping[str, str]) -> dict[str, Any]:
        """As read, of arguments that come as strings, whatever their types."""
        return self._by_name(self._adapter.validate_strings(dict(values)))

    def _by_name(self, model: Any) -> dict[str, Any]:
        return {name: getattr(model, f"argument_{i}") for i, name in enumerate(self._names)}


def header(name: str) -> FieldInfo:
    """Annotates an argument that travels in the HTTP header Mcp-Param-name as well. MCP: x-mcp-header."""
    made: FieldInfo = Field(json_schema_extra={"x-mcp-header": name})
    return made
