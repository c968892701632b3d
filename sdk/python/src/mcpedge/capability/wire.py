"""Converts the types of this library to messages of the contract and back."""

from dataclasses import fields
from typing import Any

from google.protobuf.duration_pb2 import Duration

from mcpedge.v1 import common_pb2, content_pb2, input_pb2, resources_pb2

from .encoding import encode, valid
from .failure import Failure, Reason, decode
from .types import (
    Annotations,
    AudioContent,
    ClientCapabilities,
    Content,
    EmbeddedResource,
    Icon,
    ImageContent,
    Implementation,
    ModelPreferences,
    Principal,
    RawContent,
    Resource,
    ResourceContents,
    ResourceLink,
    Root,
    SamplingContent,
    SamplingMessage,
    SamplingRequest,
    SamplingResult,
    Skill,
    SkillFile,
    TextContent,
    Tool,
    ToolResult,
    ToolUse,
)

_PAIRS: dict[type, Any] = {
    Icon: common_pb2.Icon,
    Annotations: common_pb2.Annotations,
    Implementation: common_pb2.Implementation,
    Principal: common_pb2.Principal,
    Resource: content_pb2.Resource,
    ResourceLink: content_pb2.Resource,
    ResourceContents: content_pb2.ResourceContents,
    Root: input_pb2.Root,
    Tool: input_pb2.Tool,
    ToolUse: input_pb2.ToolUse,
    ModelPreferences: input_pb2.ModelPreferences,
    SamplingRequest: input_pb2.CreateMessage,
    Skill: resources_pb2.Skill,
    SkillFile: resources_pb2.SkillFile,
}
_MADE = {pair.DESCRIPTOR.full_name: made for made, pair in reversed(_PAIRS.items())}
_ROLES = {"user": common_pb2.ROLE_USER, "assistant": common_pb2.ROLE_ASSISTANT}


def role(name: Any) -> common_pb2.Role:
    """Returns the contract's role for a name. Raises Failure INTERNAL for an unknown one."""
    if name not in _ROLES:
        raise Failure(Reason.INTERNAL, f'a role is "user" or "assistant", not {name!r:.40}')
    return _ROLES[name]


def role_name(number: int) -> Any:
    """Returns the name of a role of the contract."""
    return "user" if number == common_pb2.ROLE_USER else "assistant"


def duration(seconds: float) -> Duration:
    """Returns a duration of the contract, in whole milliseconds."""
    made = Duration()
    made.FromMilliseconds(int(seconds * 1000))
    return made


def cache_hint(ttl: float, shared: bool) -> common_pb2.CacheHint:
    """Returns the contract's cache hint. ttl is in seconds."""
    return common_pb2.CacheHint(ttl=duration(ttl), scope=common_pb2.CACHE_SCOPE_PUBLIC if shared else common_pb2.CACHE_SCOPE_PRIVATE)


def json_text(what: str, value: Any) -> str:
    """Returns the JSON of a part of a result. Raises Failure INTERNAL, with the part's name, if it does not encode."""
    try:
        return encode(value)
    except ValueError as e:
        raise Failure(Reason.INTERNAL, f"{what} is not JSON: {e}") from e


def to_wire(value: Any) -> Any:
    """Returns the message of a value with the same members. Raises TypeError for a value of a wrong type."""
    made = _PAIRS[type(value)]
    known = made.DESCRIPTOR.fields_by_name
    given: dict[str, Any] = {}
    for f in fields(value):
        member = getattr(value, f.name)
        if member is None:
            continue
        if f.name in known:
            given[f.name] = _member(f.name, member)
        elif f"{f.name}_json" in known:
            given[f"{f.name}_json"] = _json_member(f.name, member)
    return made(**given)


def _member(name: str, member: Any) -> Any:
    if isinstance(member, str):
        return valid(member)
    if name == "audience":
        return [role(r) for r in member]
    if name == "messages":
        return [message_to_wire(m) for m in member]
    if isinstance(member, list | tuple):
        return [_member("", m) for m in member]  # pyright: ignore[reportUnknownVariableType]
    return to_wire(member) if type(member) in _PAIRS else member


def _json_member(name: str, member: Any) -> Any:
    if name == "claims":
        return {claim: encode(value) for claim, value in member.items()}
    return member if isinstance(member, str) else json_text(f"{name} of an object", member)


def from_wire(message: Any) -> Any:
    """Returns the value of a message that to_wire created, or of one of the same type."""
    made = _MADE[message.DESCRIPTOR.full_name]
    known = message.DESCRIPTOR.fields_by_name
    given: dict[str, Any] = {}
    for f in fields(made):
        name = f.name
        if name in known:
            if not known[name].has_presence or message.HasField(name):
                given[name] = _value(name, getattr(message, name))
        elif f"{name}_json" in known:
            text = getattr(message, f"{name}_json")
            if name == "claims":
                given[name] = {claim: decode(f"the claim {claim!r}", value) for claim, value in text.items()}
            elif text:
                given[name] = decode(name, text)
    return made(**given)


def _value(name: str, value: Any) -> Any:
    if name == "audience":
        return tuple(role_name(r) for r in value)
    if name == "messages":
        return [message_from_wire(m) for m in value]
    if hasattr(value, "DESCRIPTOR"):
        return from_wire(value)
    if isinstance(value, str | bytes | bool | int | float):
        return value
    return tuple(_value("", v) for v in value)


def capabilities(message: common_pb2.ClientCapabilities) -> ClientCapabilities:
    """Returns the client's capabilities."""
    return ClientCapabilities(
        form=message.elicitation.form,
        url=message.elicitation.url,
        sampling=message.HasField("sampling"),
        sampling_tools=message.sampling.tools,
        roots=message.HasField("roots"),
        extensions={id_: decode(id_, settings) for id_, settings in message.extensions_json.items()},
    )


# Content.


def text_to_wire(text: str) -> content_pb2.ContentBlock:
    """Returns a text as content of the contract."""
    return content_pb2.ContentBlock(text=content_pb2.TextContent(text=valid(text)))


def content_to_wire(c: Content) -> content_pb2.ContentBlock:
    """Returns content as a message of the contract. Raises Failure INTERNAL for other values."""
    made: content_pb2.ContentBlock | None = _content(c, content_pb2.ContentBlock)
    if made is not None:
        return made
    if isinstance(c, ResourceLink):
        return content_pb2.ContentBlock(resource_link=to_wire(c))
    if isinstance(c, EmbeddedResource):
        return content_pb2.ContentBlock(resource=contents_to_wire(c.resource), **_described(c))
    raise Failure(Reason.INTERNAL, f"content is a TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource or RawContent, not {c!r:.80}")


def _content(c: Any, block: Any) -> Any:
    """Fills the block of a kind that content of results and of sampling share. Returns None for other kinds."""
    try:
        if isinstance(c, TextContent):
            return block(text=content_pb2.TextContent(text=valid(c.text)), **_described(c))
        if isinstance(c, ImageContent):
            return block(image=content_pb2.ImageContent(data=c.data, mime_type=c.mime_type), **_described(c))
        if isinstance(c, AudioContent):
            return block(audio=content_pb2.AudioContent(data=c.data, mime_type=c.mime_type), **_described(c))
    except (TypeError, AttributeError) as e:
        raise Failure(Reason.INTERNAL, f"content of the type {c.type} has members of wrong types: {e}") from e
    return block(raw_json=json_text("a content block", c.block)) if isinstance(c, RawContent) else None


def _described(c: Any) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if c.annotations is not None:
        said["annotations"] = to_wire(c.annotations)
    if c.meta is not None:
        said["meta_json"] = json_text("_meta of content", c.meta)
    return said


def content_from_wire(block: content_pb2.ContentBlock) -> Content:
    """Returns a message of the contract as content."""
    made: Content | None = _of_content(block)
    if made is not None:
        return made
    if block.HasField("resource_link"):
        given = from_wire(block.resource_link)
        return ResourceLink(**{f.name: getattr(given, f.name) for f in fields(given)})
    return EmbeddedResource(contents_from_wire(block.resource), **_said(block))


def _of_content(block: Any) -> Any:
    kind = block.WhichOneof("content")
    if kind == "text":
        return TextContent(block.text.text, **_said(block))
    if kind in ("image", "audio"):
        made = ImageContent if kind == "image" else AudioContent
        body = getattr(block, kind)
        return made(body.data, body.mime_type, **_said(block))
    return RawContent(decode("a content block", block.raw_json)) if kind == "raw_json" else None


def _said(block: Any) -> dict[str, Any]:
    return {
        "annotations": from_wire(block.annotations) if block.HasField("annotations") else None,
        "meta": decode("_meta", block.meta_json) if block.meta_json else None,
    }


def contents_to_wire(c: ResourceContents, uri: str = "", mime_type: str = "") -> content_pb2.ResourceContents:
    """Returns contents as a message, with default URI and MIME type. Raises Failure INTERNAL unless there is exactly one of text and
    bytes."""
    if not isinstance(c, ResourceContents) or (c.text is None) == (c.blob is None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Failure(Reason.INTERNAL, f"contents of a resource have either a text or a blob, unlike {c!r:.80}")
    try:
        made: content_pb2.ResourceContents = to_wire(c)
    except TypeError as e:
        raise Failure(Reason.INTERNAL, f"contents of a resource have members of wrong types: {e}") from e
    made.uri = c.uri or uri
    made.mime_type = c.mime_type or mime_type
    return made


def contents_from_wire(c: content_pb2.ResourceContents) -> ResourceContents:
    """Returns a message of the contract as contents."""
    made: ResourceContents = from_wire(c)
    return made


# Sampling.


def message_to_wire(m: SamplingMessage) -> input_pb2.SamplingMessage:
    """Returns a message to the client's model as a message of the contract. Raises Failure INTERNAL for invalid content."""
    given: Any = [TextContent(m.content)] if isinstance(m.content, str) else m.content
    many: list[Any] = list(given) if isinstance(given, list | tuple) else [given]  # pyright: ignore[reportUnknownArgumentType]
    made = input_pb2.SamplingMessage(role=role(m.role), content=[_sampling(c) for c in many])
    if m.meta is not None:
        made.meta_json = json_text("_meta of a message", m.meta)
    return made


def _sampling(c: SamplingContent) -> input_pb2.SamplingContent:
    made: input_pb2.SamplingContent | None = _content(c, input_pb2.SamplingContent)
    if made is not None:
        return made
    if isinstance(c, ToolUse):
        return input_pb2.SamplingContent(tool_use=to_wire(c), **_meta(c))
    if isinstance(c, ToolResult):
        structured = "" if c.structured_content is None else json_text("structured content", c.structured_content)
        blocks = [content_to_wire(b) for b in c.content]
        result = input_pb2.ToolResult(tool_use_id=c.tool_use_id, content=blocks, structured_content_json=structured, is_error=c.is_error)
        return input_pb2.SamplingContent(tool_result=result, **_meta(c))
    raise Failure(Reason.INTERNAL, f"content of a message is a TextContent, ImageContent, AudioContent, ToolUse, ToolResult or RawContent, not {c!r:.80}")


def _meta(c: Any) -> dict[str, Any]:
    return {} if c.meta is None else {"meta_json": json_text("_meta of content", c.meta)}


def message_from_wire(m: Any) -> SamplingMessage:
    """Returns a message of the contract as a message to the client's model."""
    return SamplingMessage(role_name(m.role), [_of_sampling(c) for c in m.content], decode("_meta", m.meta_json) if m.meta_json else None)


def _of_sampling(block: Any) -> Any:
    made = _of_content(block)
    if made is not None:
        return made
    meta = decode("_meta", block.meta_json) if block.meta_json else None
    if block.HasField("tool_use"):
        use = block.tool_use
        return ToolUse(use.id, use.name, decode("the input of a tool", use.input_json), meta)
    result = block.tool_result
    structured = decode("structured content", result.structured_content_json) if result.structured_content_json else None
    return ToolResult(result.tool_use_id, [content_from_wire(c) for c in result.content], structured, result.is_error, meta)


def sampled_from_wire(m: input_pb2.CreateMessageResult) -> SamplingResult:
    """Returns the response of the client's model."""
    meta = decode("_meta", m.meta_json) if m.meta_json else None
    return SamplingResult(role_name(m.role), [_of_sampling(c) for c in m.content], m.model, m.stop_reason, meta)
