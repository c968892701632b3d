"""Text and JSON in the form of the contract."""

import json
import math
from collections.abc import Iterator
from typing import Any, TypeAlias

from pydantic_core import to_jsonable_python

Plain: TypeAlias = "dict[str, Plain] | list[Plain] | str | float | None"


class RawJSON(str):
    """Unparsed JSON, for numbers that must keep their text: an argument of a raw tool with this type is not decoded, and a value of this
    type is sent unchanged. It must be valid JSON."""


def valid(text: str) -> str:
    """Returns text for a protobuf string: each lone surrogate becomes U+FFFD."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def encode(value: Any) -> str:
    """Encodes a value as JSON: values of JSON, pydantic models, dataclasses, dates, RawJSON and others. Raises ValueError for other values,
    and for numbers that JSON does not have, which it names."""
    if isinstance(value, RawJSON):
        return str(value)
    try:
        plain: Plain = to_jsonable_python(value, inf_nan_mode="constants", by_alias=True)
        for at in _not_finite(plain, ""):
            raise ValueError(f"{at and f'at {at!r}: '}NaN and infinite numbers have none; use None or a text instead")
        return valid(json.dumps(plain, ensure_ascii=False, separators=(",", ":")))
    except TypeError as e:
        raise ValueError(str(e)) from e


def _not_finite(value: Plain, at: str) -> Iterator[str]:
    """Yields the places of numbers that JSON does not have, as JSON Pointers."""
    if isinstance(value, float) and not math.isfinite(value):
        yield at
    for name, member in (value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}).items():
        yield from _not_finite(member, f"{at}/{name}")
