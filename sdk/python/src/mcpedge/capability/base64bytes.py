"""Bytes in JSON, as a base64 string whose schema has `contentEncoding`."""

import base64
import binascii
import types
import typing
from typing import Annotated, Any, TypeAlias, get_args, get_origin

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

MAX_BYTES = 1 << 20
"""The maximum size of bytes whose annotation has no max_length."""


class _Base64:
    """Reads and writes bytes as base64 (RFC 4648, section 4), with padding and without line breaks."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        schema: Any = handler(source)
        most = schema.setdefault("max_length", MAX_BYTES) if schema["type"] == "bytes" else MAX_BYTES

        def decode(value: Any) -> Any:
            if not isinstance(value, str):
                return value
            if len(value) > characters(most):
                raise PydanticCustomError("base64_too_long", "above {most} bytes", {"most": most})
            try:
                return base64.b64decode(value, validate=True)
            except (binascii.Error, ValueError):
                raise PydanticCustomError("base64", "no base64: standard alphabet, with padding, without line breaks") from None

        written = core_schema.plain_serializer_function_ser_schema(encoded, when_used="json")
        return core_schema.no_info_before_validator_function(decode, schema, serialization=written)

    def __get_pydantic_json_schema__(self, schema: Any, _: GetJsonSchemaHandler) -> dict[str, Any]:
        most = schema["schema"].get("max_length", MAX_BYTES)
        return {"type": "string", "contentEncoding": "base64", "maxLength": characters(most)}


def encoded(data: bytes) -> str:
    """Returns bytes as base64."""
    return base64.b64encode(data).decode()


def characters(size: int) -> int:
    """Returns the length of size bytes in base64."""
    return 4 * -(-size // 3)


Base64: TypeAlias = Annotated[bytes, _Base64()]
"""Bytes as base64 in JSON, at most 1 MiB, for members of models. A parameter of a tool that is annotated with bytes is read in this way
already, with the bound of its Field(max_length=…)."""


def in_base64(type_: Any) -> Any:
    """Returns an annotation in which bytes are read as Base64. It does not change the members of models."""
    origin, args = get_origin(type_), get_args(type_)
    if type_ is bytes:
        return Base64
    if origin is Annotated and args[0] is bytes:
        return type_ if any(isinstance(m, _Base64) or hasattr(m, "encoder") for m in args[1:]) else _annotated((*args, _Base64()))
    if origin is Annotated:
        inner = in_base64(args[0])
        return type_ if inner is args[0] else _annotated((inner, *args[1:]))
    if not args or isinstance(args[0], list):
        return type_
    made = tuple(map(in_base64, args))
    if all(a is b for a, b in zip(made, args, strict=True)):
        return type_
    if origin in (typing.Union, types.UnionType):
        return typing.Union[made]  # noqa: UP007
    return type_.copy_with(made) if hasattr(type_, "copy_with") else origin[made]


def _annotated(args: tuple[Any, ...]) -> Any:
    make: Any = Annotated
    return make[args]
