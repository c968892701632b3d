"""Forms: their schemas, and the validation of answers."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator, SchemaError, ValidationError, validators
from pydantic.json_schema import GenerateJsonSchema

from .arguments import Arguments, parse
from .failure import DefinitionError
from .schema import Param, Untitled, described, is_model

_FORMATS = (None, "email", "uri", "date", "date-time")
"""The formats of forms. Clients refuse a form with another one."""
_PRIMITIVES = ("string", "number", "integer", "boolean")


@dataclass(frozen=True)
class FormSpec:
    """A form's schema, a flat JSON object of primitive properties, and the function that reads an answer. read raises ValueError if an
    answer does not fit (pydantic's ValidationError is one)."""

    schema: str
    read: Callable[[str], Any]


def form_of(form: Any, key: str) -> FormSpec:
    """Returns the form of a type: of a model, a dataclass or a TypedDict with its members, or of a primitive type with one member named by
    the key. Raises DefinitionError if the form would not be flat."""
    try:
        hash(form)
    except TypeError:
        return _form_of.__wrapped__(form, key)
    return _form_of(form, key)


@lru_cache(maxsize=1024)
def _form_of(form: Any, key: str) -> FormSpec:
    what = f"the form {getattr(form, '__qualname__', form)}"
    generator = Untitled if is_model(form) else GenerateJsonSchema
    adapter, schema = described(what, lambda: form, generator=generator)  # pyright: ignore[reportUnknownLambdaType]
    if schema.get("type") == "object":
        return FormSpec(_flat(what, schema), lambda text: parse(adapter, text))
    one = fields_of({key: form})
    return FormSpec(one.schema, lambda text: one.read(text)[key])


def fields_of(fields: Mapping[str, Any]) -> FormSpec:
    """Returns the form of fields, each of a primitive type. Its answers are dicts. Raises DefinitionError as form_of does."""
    what = "the form of the fields " + ", ".join(fields)
    arguments = Arguments(what, {name: Param(type_) for name, type_ in fields.items()}, unknown="allow")
    return FormSpec(_flat(what, arguments.schema), arguments.read)


def _flat(what: str, schema: dict[str, Any]) -> str:
    """Returns a schema without null types, as MCP permits it: strings, numbers, booleans and lists of enumerated strings."""
    properties = {}
    for name, member in schema.get("properties", {}).items():
        member = _resolved(member)
        why = _unfillable(member)
        if why:
            raise DefinitionError(f"{what}: its member {name!r} cannot be shown: {why}")
        properties[name] = member
    flat = {k: v for k, v in schema.items() if k in ("type", "description", "required")}
    return json.dumps({**flat, "properties": properties})


def _unfillable(member: dict[str, Any]) -> str:
    """Returns why no client can show a member, empty if clients can."""
    items = member.get("items", {})
    listed = member.get("type") == "array" and items.get("type") == "string" and "enum" in items
    if member.get("type") not in _PRIMITIVES and not listed:
        return "it is no string, number, boolean or list of enumerated strings; a form has no others"
    if any(not isinstance(value, str) for value in member.get("enum", ())):
        return "an enumeration has strings only; use str values, or a number with bounds"
    if member.get("format") not in _FORMATS or "contentEncoding" in member:
        return f"no client knows the format {member.get('format') or 'base64'!r}: known are email, uri, date and date-time"
    return ""


def _resolved(member: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in member:  # of X | None
        kinds = [m for m in member["anyOf"] if m.get("type") != "null"]
        if len(kinds) == 1:
            rest = {k: v for k, v in member.items() if k != "anyOf" and (k, v) != ("default", None)}
            member = {**_resolved(kinds[0]), **rest}
    if "const" in member:
        member = {**{k: v for k, v in member.items() if k != "const"}, "enum": [member["const"]]}
    if "items" in member:
        member = {**member, "items": _resolved(member["items"])}
    return member


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    """Validates a text by a pattern. A pattern that Python cannot compile, such as one of another dialect, accepts every text."""
    try:
        fits = not validator.is_type(instance, "string") or re.search(pattern, instance)
    except re.error:
        return
    if not fits:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


_Validator: Any = vars(validators)["extend"](Draft202012Validator, {"pattern": _pattern})  # of its types, it has none


def raw_form(schema: str | dict[str, Any]) -> FormSpec:
    """Returns the form of a schema, which is sent unchanged. Its answers are dicts that satisfy the schema, except for formats."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    try:
        rules = json.loads(text)
        _Validator.check_schema(rules, format_checker=None)
    except (ValueError, SchemaError) as e:
        raise DefinitionError(f"the schema of a form must be a JSON Schema, not {text[:80]}: {e}") from e
    if not isinstance(rules, dict):
        raise DefinitionError(f"the schema of a form must be a JSON object, not {text[:80]}")
    validator = _Validator({**rules, "type": "object"})

    def read(answer: str) -> dict[str, Any]:
        members: dict[str, Any] = json.loads(answer)
        misfit: ValidationError | None = next(validator.iter_errors(members), None)
        if misfit is not None:
            raise ValueError(misfit.message)
        return members

    return FormSpec(text, read)
