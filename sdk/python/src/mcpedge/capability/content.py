"""Pieces of results and messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcpedge.v1 import common_pb2, content_pb2

from .encoding import encode, valid
from .types import Annotations, Content, PromptMessage, Resource, ResourceContents, RoleName, SamplingContent, SamplingMessage, role


@dataclass
class Result:
    """A complete tool result: for tools that combine content with structured content, fail with content, or set `_meta`.
    MCP: CallToolResult."""

    content: Sequence[Content] = ()
    """May be empty; if structured is set, the edge then adds its JSON as text."""
    structured: Any = None
    """What encodes as JSON; None: none."""
    is_error: bool = False
    """The tool failed in a way that the model should see."""
    meta: dict[str, Any] | None = None
    """`_meta` of the result; None: none."""


def error_result(message: str) -> Result:
    """A failure that the model sees and can act on."""
    return Result([text(message)], is_error=True)


def annotations(audience: Sequence[RoleName] = (), priority: float | None = None, last_modified: str = "") -> Annotations:
    """Its audience; its importance, 0 to 1; the ISO 8601 time of its last change."""
    return common_pb2.Annotations(audience=[role(a) for a in audience], priority=priority, last_modified=last_modified)


def text(value: str, *, annotations: Annotations | None = None) -> Content:
    """Plain text."""
    return Content(text=content_pb2.TextContent(text=valid(value)), annotations=annotations)


def image(data: bytes, mime_type: str, *, annotations: Annotations | None = None) -> Content:
    """A picture: its raw bytes (not base64) and MIME type."""
    return Content(image=content_pb2.ImageContent(data=data, mime_type=mime_type), annotations=annotations)


def audio(data: bytes, mime_type: str, *, annotations: Annotations | None = None) -> Content:
    """A sound: its raw bytes (not base64) and MIME type."""
    return Content(audio=content_pb2.AudioContent(data=data, mime_type=mime_type), annotations=annotations)


def link(resource: Resource) -> Content:
    """Refers to a resource that the client may read; its URI and name are required."""
    return Content(resource_link=resource)


def embed(contents: ResourceContents, *, annotations: Annotations | None = None) -> Content:
    """Carries a resource's contents along; their URI is required."""
    return Content(resource=contents, annotations=annotations)


def raw_content(block: dict[str, Any]) -> Content:
    """A complete content block as an object with `type`, sent unchanged."""
    return Content(raw_json=encode(block))


def text_contents(value: str, *, uri: str = "", mime_type: str = "") -> ResourceContents:
    """The text of a resource. Returned by a read, an empty URI becomes the one that was read, and an empty MIME type
    that of the resource or template."""
    return ResourceContents(uri=uri, mime_type=mime_type, text=valid(value))


def blob_contents(value: bytes, *, uri: str = "", mime_type: str = "") -> ResourceContents:
    """The raw bytes (not base64) of a resource; empty members are as in text_contents."""
    return ResourceContents(uri=uri, mime_type=mime_type, blob=value)


def message(speaker: RoleName, content: Content | str) -> PromptMessage:
    """One turn of a prompt."""
    return PromptMessage(role=role(speaker), content=text(content) if isinstance(content, str) else content)


def sampling_text(speaker: RoleName, value: str) -> SamplingMessage:
    """A turn of plain text for a sampling request."""
    content = SamplingContent(text=content_pb2.TextContent(text=valid(value)))
    return SamplingMessage(role=role(speaker), content=[content])
