"""Makes a backend of MCP Edge from Python functions: tools, resources and prompts that the edge serves to every client of the
Model Context Protocol. A whole service:

    from mcpedge.capability import Server

    server = Server("greeter", "1.0.0")

    @server.tool
    def greet(name: str) -> str:
        \"\"\"Greets someone.\"\"\"
        return f"Hello, {name}"

    server.run()
"""

# ruff: noqa: I001
# fmt: off
from .answers import InputRequired
from .asynccall import AsyncCall
from .base64bytes import Base64
from .call import Call
from .content import annotations, audio, blob_contents, embed, error_result, image, link, message, raw_content, sampling_text, structured, text, text_contents
from .encoding import RawJSON
from .failure import Declined, DefinitionError, Dismissed, Failure, Reason, StatusError, Unanswered, lacks_scopes
from .questions import ElicitResult, Question, form, form_schema, list_roots, open_url, raw_question, sampling
from .resources import DirectoryProvider, ResourceProvider, ResourceWatcher, SkillProvider
from .schema import header
from .serve import run, serve
from .server import Server
from .services import register
from .tools import Tasks
from .types import (
    Annotations, AudioContent, ClientCapabilities, Content, EmbeddedResource, Icon, ImageContent, Implementation, Level, ModelPreferences, Principal,
    PromptMessage, PromptResult, RawContent, ReadResult, Resource, ResourceContents, ResourceLink, Result, Root, SamplingContent, SamplingMessage,
    SamplingRequest, SamplingResult, Skill, SkillFile, TextContent, Tool, ToolResult, ToolUse,
)

__all__ = [
    "Annotations", "AsyncCall", "AudioContent", "Base64", "Call", "ClientCapabilities", "Content", "Declined", "DefinitionError", "DirectoryProvider",
    "Dismissed", "ElicitResult", "EmbeddedResource", "Failure", "Icon", "ImageContent", "Implementation", "InputRequired", "Level", "ModelPreferences",
    "Principal", "PromptMessage", "PromptResult", "Question", "RawContent", "RawJSON", "ReadResult", "Reason", "Resource", "ResourceContents",
    "ResourceLink", "ResourceProvider", "ResourceWatcher", "Result", "Root", "SamplingContent", "SamplingMessage", "SamplingRequest", "SamplingResult",
    "Server", "Skill", "SkillFile", "SkillProvider", "StatusError", "Tasks", "TextContent", "Tool", "ToolResult", "ToolUse", "Unanswered", "annotations",
    "audio", "blob_contents", "embed", "error_result", "form", "form_schema", "header", "image", "lacks_scopes", "link", "list_roots", "message",
    "open_url", "raw_content", "raw_question", "register", "run", "sampling", "sampling_text", "serve", "structured", "text", "text_contents",
]
# fmt: on
