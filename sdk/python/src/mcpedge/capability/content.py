"""Short constructors for parts of results and messages."""

from collections.abc import Sequence
from typing import Any

from .encoding import encode
from .types import (
    Annotations,
    AudioContent,
    Content,
    EmbeddedResource,
    ImageContent,
    PromptMessage,
    RawContent,
    Resource,
    ResourceContents,
    ResourceLink,
    Result,
    RoleName,
    SamplingMessage,
    TextContent,
)


def structured(value: Any) -> Result:
    """Structured content: any value that encodes as JSON, whatever members it has."""
    return Result(structured_content=value)


def error_result(message: str) -> Result:
    """A result with `isError`, which the model sees and can act on."""
    return Result([text(message)], is_error=True)


def annotations(audience: Sequence[RoleName] = (), priority: float | None = None, last_modified: str = "") -> Annotations:
    """Annotations: the audience; the importance, 0 to 1; the ISO 8601 time of the last change."""
    return Annotations(audience, priority, last_modified)


def text(value: str, *, annotations: Annotations | None = None) -> TextContent:
    """Plain text."""
    return TextContent(value, annotations)


def image(data: bytes, mime_type: str, *, annotations: Annotations | None = None) -> ImageContent:
    """An image: its raw bytes (not base64) and MIME type."""
    return ImageContent(data, mime_type, annotations)


def audio(data: bytes, mime_type: str, *, annotations: Annotations | None = None) -> AudioContent:
    """Audio: its raw bytes (not base64) and MIME type."""
    return AudioContent(data, mime_type, annotations)


def link(resource: Resource) -> ResourceLink:
    """A reference to a resource that the client may read."""
    return ResourceLink(**vars(resource))


def embed(contents: ResourceContents, *, annotations: Annotations | None = None) -> EmbeddedResource:
    """The contents of a resource as part of a result. Their URI is required."""
    return EmbeddedResource(contents, annotations)


def raw_content(block: dict[str, Any]) -> RawContent:
    """A complete content block as an object with `type`, sent unchanged. Raises ValueError if it does not encode as JSON."""
    encode(block)
    return RawContent(block)


def text_contents(value: str, *, uri: str = "", mime_type: str = "") -> ResourceContents:
    """The text of a resource. Returned by a read, an empty URI becomes the one that was read, and an empty MIME type
    that of the resource or template."""
    return ResourceContents(uri, mime_type, text=value)


def blob_contents(value: bytes, *, uri: str = "", mime_type: str = "") -> ResourceContents:
    """The raw bytes (not base64) of a resource; empty members are as in text_contents."""
    return ResourceContents(uri, mime_type, blob=value)


def message(speaker: RoleName, content: Content | str) -> PromptMessage:
    """One turn of a prompt."""
    return PromptMessage(speaker, text(content) if isinstance(content, str) else content)


def sampling_text(speaker: RoleName, value: str) -> SamplingMessage:
    """A turn of plain text for a sampling request."""
    return SamplingMessage(speaker, value)
