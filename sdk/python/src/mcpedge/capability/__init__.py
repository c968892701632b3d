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
from .call import Call
from .content import Result, annotations, audio, blob_contents, embed, error_result, image, link, message, raw_content, sampling_text, text, text_contents
from .encoding import RawJSON
from .failure import Cancelled, Declined, DefinitionError, Failure, Reason, StatusError, lacks_scopes
from .questions import ElicitResult, Question, form, form_schema, list_roots, open_url, raw_question, said, sampling
from .resources import DirectoryProvider, ResourceProvider, ResourceWatcher, SkillProvider
from .schema import header
from .serve import run, serve
from .server import Server
from .services import register
from .tools import Tasks
from .types import (
    Annotations, ClientCapabilities, Content, Icon, Implementation, InputRequest, InputResponse, Level, ModelPreferences, Principal, Prompt,
    PromptArgument, PromptMessage, PromptResult, Resource, ResourceContents, ResourceTemplate, Root, SamplingContent, SamplingMessage,
    SamplingRequest, SamplingResult, Skill, SkillFile, Tool,
)

__all__ = [
    "Annotations", "Call", "Cancelled", "ClientCapabilities", "Content", "Declined", "DefinitionError", "DirectoryProvider", "ElicitResult",
    "Failure", "Icon", "Implementation", "InputRequest", "InputRequired", "InputResponse", "Level", "ModelPreferences", "Principal", "Prompt",
    "PromptArgument", "PromptMessage", "PromptResult", "Question", "RawJSON", "Reason", "Resource", "ResourceContents", "ResourceProvider", "ResourceTemplate",
    "ResourceWatcher", "Result", "Root", "SamplingContent", "SamplingMessage", "SamplingRequest", "SamplingResult", "Server", "Skill", "SkillFile",
    "SkillProvider", "StatusError", "Tasks", "Tool", "annotations", "audio", "blob_contents", "embed", "error_result", "form", "form_schema",
    "header", "image", "lacks_scopes", "link", "list_roots", "message", "open_url", "raw_content", "raw_question", "register", "run", "said",
    "sampling", "sampling_text", "serve", "text", "text_contents",
]
# fmt: on
