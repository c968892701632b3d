"""The arguments of a handler: their schema, and their decoding."""

import difflib
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError, create_model

from .failure import DefinitionError, quote
from .schema import Param, described

MAX_NAMED = 5
"""The maximum number of unknown arguments that an error names."""


def parse(adapter: TypeAdapter[Any], text: str) -> Any:
    """Decodes JSON as a type, strictly: a string is no number, and 3.0 is an integer. Raises ValidationError if it does not fit."""
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


def misfit(error: ValidationError, what: str, known: Sequence[str] = ()) -> str:
    """Returns the errors of a value in one line, for its sender. known are the existing names, for suggestions."""
    errors = error.errors(include_url=False, include_input=False)
    unknown = [str(e["loc"][0]) for e in errors if e["type"] == "extra_forbidden" and len(e["loc"]) == 1]
    if unknown:
        return _unknown(unknown, what, known)
    first = errors[0]
    name = ".".join(str(part) for part in first["loc"])
    if not name:
        return f"the {what}s do not fit: {first['msg']}"
    if first["type"] == "missing":
        return f'the {what} "{name}" is missing; it is required'
    return f'the {what} "{name}" does not fit: {first["msg"]}'


def _unknown(names: list[str], what: str, known: Sequence[str]) -> str:
    quoted = ", ".join(map(quote, names[:MAX_NAMED])) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")
    meant = difflib.get_close_matches(names[0][:200], known, 1) if len(names) == 1 else []
    hint = f"do you mean {quote(meant[0])}?" if meant else f"known are {', '.join(map(quote, known))}" if known else "there are none"
    return f"unknown {what}{'s' if len(names) > 1 else ''} {quoted}: {hint}"


class Arguments:
    """The arguments of a handler: their schema, and their decoding."""

    def __init__(self, what: str, params: Mapping[str, Param], *, texts: bool = False, unknown: Literal["refuse", "allow"] = "refuse") -> None:
        """what begins the DefinitionError, which is raised if an argument has no schema. With texts all arguments come as strings, and
        lists and objects are an error, too. unknown selects whether unknown arguments are refused or dropped."""
        self._names = list(params)
        fields: dict[str, Any] = {f"argument_{i}": param.field(name) for i, (name, param) in enumerate(params.items())}
        config = ConfigDict(protected_namespaces=(), populate_by_name=False, allow_inf_nan=False, extra="forbid" if unknown == "refuse" else "ignore")
        self._adapter, self.schema = described(what, lambda: create_model("Arguments", __config__=config, **fields))
        self.names = list(self.schema.get("properties", {}))
        """The names of the arguments."""
        for name, said in self.schema.get("properties", {}).items() if texts else ():
            kinds = [s.get("type") for s in (said, *said.get("anyOf", ()))]
            if "array" in kinds or "object" in kinds:
                raise DefinitionError(f"{what} cannot be read from a text, {name!r}, a list or an object; use str, a number, bool or an enumeration")

    def read(self, text: str) -> dict[str, Any]:
        """Decodes arguments, by the names of the parameters. Raises ValidationError if they do not fit."""
        return self._by_name(parse(self._adapter, text or "{}"))

    def read_strings(self, values: Mapping[str, str]) -> dict[str, Any]:
        """Decodes arguments that come as strings, whatever their types."""
        return self._by_name(self._adapter.validate_strings(dict(values)))

    def _by_name(self, model: Any) -> dict[str, Any]:
        return {name: getattr(model, f"argument_{i}") for i, name in enumerate(self._names)}
