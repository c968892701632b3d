"""Results of the official SDK and of FastMCP, as they are: objects of their classes, or dicts with the members of MCP. Neither package
is imported: what counts are the members. What has some of the members of a result and cannot be one is an error, which says what to
write; nothing is guessed."""

import base64
import binascii
import dataclasses
import typing
from collections.abc import Collection
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from typing_extensions import is_typeddict

from .failure import Failure, Reason
from .schema import is_model
from .types import (
    Annotations,
    AudioContent,
    Content,
    EmbeddedResource,
    Icon,
    ImageContent,
    PromptMessage,
    PromptResult,
    ReadResult,
    ResourceContents,
    ResourceLink,
    Result,
    TextContent,
)

KINDS = ("text", "image", "audio", "resource_link", "resource")
RESULT = ("content", "structuredContent", "isError", "_meta")
_HELPERS = ("to_image_content", "to_audio_content", "to_resource_content")
_OWN = get_args(Content)
_IGNORED = ("resultType", "ttlMs", "cacheScope")
_BLOCK: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name", "title", "description", "mimeType", "size", "icons"),
    "resource": ("resource",),
}


def camel(name: str) -> str:
    """Returns the name in MCP of a Python attribute."""
    if name == "meta":
        return "_meta"
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest) if first else name


def members(value: Any) -> dict[str, Any] | None:
    """Returns the members of a dict, of a pydantic model or of a dataclass, by their names in MCP, and None for other values. Members of
    objects that are None are omitted, because they are the optional ones."""
    if isinstance(value, dict):
        return value  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, BaseModel):
        names = list(type(value).model_fields)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in dataclasses.fields(value)]
    else:
        return None
    return {camel(name): member for name in names if (member := getattr(value, name)) is not None}


def _names(cls: Any) -> set[str]:
    """Returns the names in MCP of the members of a class, empty for other types."""
    if is_model(cls):
        return {camel(name) for name in cls.model_fields}
    if isinstance(cls, type) and get_origin(cls) is None and dataclasses.is_dataclass(cls):
        return {camel(f.name) for f in dataclasses.fields(cls)}
    return {camel(name) for name in _hints(cls)}


def _hints(cls: Any) -> dict[str, Any]:
    """Returns the annotations of a TypedDict, empty for other types."""
    return typing.get_type_hints(cls) if is_typeddict(cls) else {}


def is_result_type(cls: Any) -> bool:
    """Returns whether a class is a result of tools."""
    return {"content", "structuredContent"} <= _names(cls) <= {*RESULT, *_IGNORED}


def is_content_type(cls: Any) -> bool:
    """Returns whether a class is content: of this library, a block of MCP, or a helper of FastMCP such as Image."""
    if cls in _OWN or any(callable(getattr(cls, name, None)) for name in _HELPERS):
        return True
    names = _names(cls)
    if "type" not in names:
        return False
    if is_model(cls):
        said = cls.model_fields["type"].annotation
    else:
        said = _hints(cls).get("type") or cls.__annotations__["type"]
    kinds = get_args(said) if get_origin(said) is Literal else ()
    return len(kinds) == 1 and kinds[0] in KINDS and names <= {"type", "annotations", "_meta", *_BLOCK[kinds[0]]}


def is_message_type(cls: Any) -> bool:
    """Returns whether a class is a message of a prompt."""
    return _names(cls) == {"role", "content"}


def is_prompt_type(cls: Any) -> bool:
    """Returns whether a class is a result of prompts."""
    return {"messages"} <= _names(cls) <= {"messages", "description", "_meta", *_IGNORED}


def is_read_type(cls: Any) -> bool:
    """Returns whether a class is a result of reads."""
    return {"contents"} <= _names(cls) <= {"contents", "_meta", *_IGNORED}


def is_contents_type(cls: Any) -> bool:
    """Returns whether a class is contents of a resource."""
    names = _names(cls)
    return bool(names & {"text", "blob", "content"}) and names <= {"uri", "mimeType", "text", "blob", "content", "_meta"} and "mimeType" in names


@dataclasses.dataclass(frozen=True)
class Official:
    """Converts the parts of a result. Each method raises Failure INTERNAL, which begins with owner, if it cannot."""

    owner: str
    """The handler that returned the result, such as: tool greet."""
    value: str
    """The advice in errors for handlers that meant to return a value."""

    def fail(self, why: str) -> Failure:
        return Failure(Reason.INTERNAL, f"{self.owner} returned {why}")

    def whole(self, value: Any, result: str, known: Collection[str]) -> dict[str, Any]:
        """Returns the members of a result. Raises Failure if one is unknown."""
        has = dict(members(value) or {})
        kind = has.pop("resultType", "complete")
        if kind != "complete":
            raise self.fail(f"a result of the type {kind!r}: ask by call.ask, call.sample or call.roots instead")
        if not isinstance(value, dict):
            has = {name: member for name, member in has.items() if name not in _IGNORED}
        strays = [name for name in has if name not in known and name not in _IGNORED]
        if strays:
            fit = _quoted([name for name in has if name in known])
            raise self.fail(f"an object with {fit}, as a result of {result} has, and {_quoted(strays)}, which it has not: for a value, {self.value}")
        self.fits(result, has, "_meta", "an object", dict)
        return has

    def fits(self, result: str, has: dict[str, Any], name: str, kind: str, type_: Any) -> None:
        """Checks the type of a member, if it is present."""
        if has.get(name) is not None and not isinstance(has[name], type_):
            raise self.fail(f'an object with "{name}", which in a result of {result} is {kind}: write that, or, for a value, {self.value}')

    def result(self, value: Any) -> Result:
        """Converts a result of a tool."""
        if isinstance(value, Result):
            return value
        has = self.whole(value, "a tool", RESULT)
        blocks = 'a list of content, as [{"type": "text", "text": "…"}]'
        self.fits("a tool", has, "content", blocks, list | tuple)
        self.fits("a tool", has, "isError", "True or False", bool)
        content: list[Content] = []
        for block in has.get("content") or ():
            found = self.content(block)
            if found is None:
                self.fits("a tool", {"content": block}, "content", blocks, ())
            content.append(typing.cast(Content, found))
        return Result(content, has.get("structuredContent"), bool(has.get("isError", False)), has.get("_meta"))

    def content(self, value: Any) -> Content | None:
        """Converts content. Returns None for other values."""
        if isinstance(value, _OWN):
            return typing.cast(Content, value)
        if isinstance(value, str | bytes | int | float | list | type(None)):
            return None
        for name in _HELPERS:
            if callable(helper := getattr(value, name, None)):
                return self.content(helper())
        has = members(value) or {}
        kind = has.get("type")
        if kind not in KINDS:
            return None
        strays = [name for name in has if name not in ("type", "annotations", "_meta", *_BLOCK[kind])]
        if strays:
            raise self.fail(
                f"content of the type {kind}, which has no {_quoted(strays)}: write raw_content({{…}}) to send it as it is; for a value, {self.value}"
            )
        said: dict[str, Any] = {"annotations": self._annotations(has.get("annotations")), "meta": has.get("_meta")}
        if kind == "text":
            return TextContent(self._text(has, "text", kind), **said)
        if kind in ("image", "audio"):
            made: Any = ImageContent if kind == "image" else AudioContent
            return typing.cast(
                Content, made(self._bytes(has.get("data"), f"the data of content of the type {kind}"), self._text(has, "mimeType", kind), **said)
            )
        if kind == "resource":
            return EmbeddedResource(self.contents(has.get("resource")), **said)
        icons = [Icon(i["src"], i.get("mimeType", ""), i.get("sizes", ())) for i in map(members, has.get("icons") or ()) if i]
        texts: dict[str, Any] = {name: str(has.get(mcp, "")) for name, mcp in (("title", "title"), ("description", "description"), ("mime_type", "mimeType"))}
        uri = str(has.get("uri", ""))
        return ResourceLink(uri=uri, name=self._text(has, "name", kind), size=has.get("size"), icons=icons, **texts, **said)

    def contents(self, value: Any) -> ResourceContents:
        """Converts contents of a resource: of MCP, or of FastMCP, which have a str or bytes as `content`."""
        if isinstance(value, ResourceContents):
            return value
        has = members(value)
        if has is None or not {"text", "blob", "content"} & has.keys():
            raise self.fail(f'contents of a resource with neither a "text" nor a "blob": {value!r:.80}; {self.value}')
        body = has.get("content")
        text = has.get("text", body if isinstance(body, str) else None)
        blob = has.get("blob", body if isinstance(body, bytes) else None)
        if text is not None and not isinstance(text, str):
            raise self.fail(f"contents of a resource whose text is no str: {text!r:.80}")
        data = None if blob is None else self._bytes(blob, "the blob of contents")
        return ResourceContents(str(has.get("uri", "")), str(has.get("mimeType", "")), text, data, has.get("_meta"))

    def read(self, value: Any) -> ReadResult:
        """Converts a result of a read."""
        if isinstance(value, ReadResult):
            return value
        has = self.whole(value, "a read", ("contents", "_meta"))
        self.fits("a read", has, "contents", 'a list, as [{"uri": "…", "text": "…"}]', list | tuple)
        said = members(value) or {}
        ttl = said.get("ttlMs") or 0  # none unless it is said
        cache = (ttl / 1000, said.get("cacheScope") == "public") if ttl else None
        return ReadResult([self.contents(c) for c in has["contents"]], has.get("_meta"), cache)

    def prompt(self, value: Any) -> PromptResult:
        """Converts a result of a prompt."""
        if isinstance(value, PromptResult):
            return value
        has = self.whole(value, "a prompt", ("messages", "description", "_meta"))
        self.fits("a prompt", has, "messages", "a list of messages", list | tuple)
        return PromptResult([self.message(m) for m in has["messages"]], has.get("description") or "", has.get("_meta"))

    def message(self, value: Any) -> PromptMessage:
        """Converts a message of a prompt. A str is a message of the user."""
        if isinstance(value, str):
            return PromptMessage("user", TextContent(value))
        if isinstance(value, PromptMessage):
            return value
        has = members(value)
        if has is None or has.keys() != {"role", "content"}:
            found = self.content(value)
            if found is None:
                raise self.fail(f"what is no message, {value!r:.80}: {self.value}")
            return PromptMessage("user", found)
        said = has["content"]
        content = TextContent(said) if isinstance(said, str) else self.content(said)
        if content is None:
            raise self.fail(f"a message whose content is no content, {said!r:.80}: {self.value}")
        return PromptMessage(has["role"], content)

    def _text(self, has: dict[str, Any], name: str, kind: str) -> str:
        if not isinstance(has.get(name), str):
            raise self.fail(f"content of the type {kind} whose {name} is no str: {has.get(name)!r:.80}")
        return str(has[name])

    def _bytes(self, data: Any, what: str) -> bytes:
        try:
            if isinstance(data, bytes):
                return data
            if isinstance(data, str):
                return base64.b64decode(data, validate=True)
        except binascii.Error:
            pass
        raise self.fail(f"a result in which {what} is neither bytes nor base64: {data!r:.80}")

    def _annotations(self, value: Any) -> Annotations | None:
        if value is None or isinstance(value, Annotations):
            return value
        has = members(value) or {}
        return Annotations(has.get("audience") or (), has.get("priority"), has.get("lastModified") or "")


def _quoted(names: Collection[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
