"""The types that handlers receive and return: the objects of MCP as dataclasses, which isinstance and match distinguish."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LEVELS: tuple[Level, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The levels of a log message by RFC 5424, in rising order. The number of a level in the contract is its index plus one."""

RoleName = Literal["user", "assistant"]
Meta: TypeAlias = "dict[str, Any] | None"


@dataclass
class Icon:
    """An image that clients may show. MCP: Icon."""

    src: str
    mime_type: str = ""
    sizes: Sequence[str] = ()
    theme: str = ""


@dataclass
class Annotations:
    """How a client should use an object: its audience; its importance, 0 to 1; the ISO 8601 time of its last change. MCP: Annotations."""

    audience: Sequence[RoleName] = ()
    priority: float | None = None
    last_modified: str = ""


@dataclass
class Implementation:
    """The name and version of a program. MCP: Implementation."""

    name: str = ""
    version: str = ""
    title: str = ""
    description: str = ""
    website_url: str = ""
    icons: Sequence[Icon] = ()


@dataclass
class Principal:
    """The caller. An empty subject means an anonymous one."""

    subject: str = ""
    issuer: str = ""
    scopes: Sequence[str] = ()
    roles: Sequence[str] = ()
    client_id: str = ""
    actor: str = ""
    subject_is_client: bool = False
    claims: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The claims that the edge's setting `claims` of this backend names."""


@dataclass
class ClientCapabilities:
    """The questions that the client supports, and its extensions by id."""

    form: bool = False
    url: bool = False
    sampling: bool = False
    sampling_tools: bool = False
    roots: bool = False
    extensions: Mapping[str, Any] = field(default_factory=dict[str, Any])


# Content.


@dataclass
class TextContent:
    """Plain text. MCP: TextContent."""

    text: str
    annotations: Annotations | None = None
    meta: Meta = None
    type: Literal["text"] = "text"


@dataclass
class ImageContent:
    """An image: its raw bytes (not base64) and MIME type. MCP: ImageContent."""

    data: bytes
    mime_type: str
    annotations: Annotations | None = None
    meta: Meta = None
    type: Literal["image"] = "image"


@dataclass
class AudioContent:
    """Audio: its raw bytes (not base64) and MIME type. MCP: AudioContent."""

    data: bytes
    mime_type: str
    annotations: Annotations | None = None
    meta: Meta = None
    type: Literal["audio"] = "audio"


@dataclass
class Resource:
    """A resource in a list; the size is in bytes. MCP: Resource."""

    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""
    size: int | None = None
    annotations: Annotations | None = None
    icons: Sequence[Icon] = ()
    meta: Meta = None


@dataclass
class ResourceLink(Resource):
    """A reference to a resource that the client may read. MCP: ResourceLink."""

    type: Literal["resource_link"] = "resource_link"


@dataclass
class ResourceContents:
    """Contents of a resource: a text, or raw bytes (not base64). In the result of a read, the URI and the MIME type may be omitted. MCP:
    TextResourceContents, BlobResourceContents."""

    uri: str = ""
    mime_type: str = ""
    text: str | None = None
    blob: bytes | None = None
    meta: Meta = None


@dataclass
class EmbeddedResource:
    """Contents of a resource, whose URI is required. MCP: EmbeddedResource."""

    resource: ResourceContents
    annotations: Annotations | None = None
    meta: Meta = None
    type: Literal["resource"] = "resource"


@dataclass
class RawContent:
    """A complete block of any `type`, sent unchanged."""

    block: dict[str, Any]
    type: Literal["raw"] = "raw"


Content = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource | RawContent
"""One piece of a result or of a message. MCP: ContentBlock."""


# Results.


@dataclass
class Result:
    """A complete tool result: for tools that combine content with structured content, fail with content, or set `_meta`.
    MCP: CallToolResult."""

    content: Sequence[Content] = ()
    """May be empty; if structured_content is set, the edge then adds its JSON as text."""
    structured_content: Any = None
    """Any value that encodes as JSON, None if there is none."""
    is_error: bool = False
    """Marks a failure that the model should see."""
    meta: Meta = None
    """`_meta` of the result, None if there is none."""


@dataclass
class PromptMessage:
    """One turn of a prompt. MCP: PromptMessage."""

    role: RoleName
    content: Content


@dataclass
class PromptResult:
    """A complete prompt. MCP: GetPromptResult."""

    messages: Sequence[PromptMessage]
    description: str = ""
    """The description; empty uses that of the prompt."""
    meta: Meta = None


@dataclass
class ReadResult:
    """A complete result of a read. MCP: ReadResourceResult."""

    contents: Sequence[ResourceContents]
    meta: Meta = None
    cache: tuple[float, bool] | None = None
    """For how many seconds the client may cache it, and whether callers may share the cache entry. None uses the value of
    Call.set_cache."""


# Skills.


@dataclass
class SkillFile:
    """A file of a skill."""

    uri: str
    sha256: bytes
    size: int


@dataclass
class Skill:
    """A skill, identified by the URI of its SKILL.md."""

    uri: str
    frontmatter: dict[str, Any]
    files: Sequence[SkillFile] = ()
    dynamic: bool = False


# Questions.


@dataclass
class Root:
    """A directory or file that the client works on. MCP: Root."""

    uri: str
    name: str = ""
    meta: Meta = None


@dataclass
class Tool:
    """A tool with explicit schemas: dicts, or JSON texts that are sent unchanged. An empty input schema accepts any object. MCP: Tool."""

    name: str
    description: str = ""
    input_schema: dict[str, Any] | str = field(default_factory=dict[str, Any])
    output_schema: dict[str, Any] | str | None = None
    title: str = ""
    icons: Sequence[Icon] = ()
    meta: Meta = None


@dataclass
class ToolUse:
    """A call of a tool by the client's model. MCP: ToolUseContent."""

    id: str
    name: str
    input: dict[str, Any]
    meta: Meta = None
    type: Literal["tool_use"] = "tool_use"


@dataclass
class ToolResult:
    """The result of a ToolUse for the client's model. MCP: ToolResultContent."""

    tool_use_id: str
    content: Sequence[Content] = ()
    structured_content: Any = None
    is_error: bool = False
    meta: Meta = None
    type: Literal["tool_result"] = "tool_result"


SamplingContent = TextContent | ImageContent | AudioContent | ToolUse | ToolResult | RawContent
"""One piece of a message to or from the client's model."""


@dataclass
class SamplingMessage:
    """A turn of a sampling request. MCP: SamplingMessage."""

    role: RoleName
    content: "SamplingContent | str | Sequence[SamplingContent]"
    """A str is one TextContent."""
    meta: Meta = None


@dataclass
class ModelPreferences:
    """Which model to use: names, and how important each property is, 0 to 1. MCP: ModelPreferences."""

    hints: Sequence[str] = ()
    cost_priority: float | None = None
    speed_priority: float | None = None
    intelligence_priority: float | None = None


@dataclass
class SamplingRequest:
    """A request to the client's model. MCP: CreateMessageRequest."""

    messages: Sequence[SamplingMessage]
    max_tokens: int = 1000
    system_prompt: str = ""
    temperature: float | None = None
    stop_sequences: Sequence[str] = ()
    model_preferences: ModelPreferences | None = None
    include_context: str = ""
    tools: Sequence[Tool] = ()
    tool_choice_mode: str = ""
    metadata: Meta = None
    meta: Meta = None


@dataclass
class SamplingResult:
    """The response of the client's model. MCP: CreateMessageResult."""

    role: RoleName
    content: Sequence[SamplingContent]
    model: str = ""
    stop_reason: str = ""
    meta: Meta = None

    @property
    def text(self) -> str:
        """The answer as text, one line for each piece."""
        return "\n".join(c.text for c in self.content if isinstance(c, TextContent))
