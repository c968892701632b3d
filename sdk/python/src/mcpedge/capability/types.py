"""The contract's own messages, under the names that an author needs. Do not change one after handing it over."""

from typing import Literal

from google.protobuf.duration_pb2 import Duration

from mcpedge.v1 import common_pb2, content_pb2, input_pb2, prompts_pb2, resources_pb2

Annotations = common_pb2.Annotations
ClientCapabilities = common_pb2.ClientCapabilities
Content = content_pb2.ContentBlock
Icon = common_pb2.Icon
Implementation = common_pb2.Implementation
InputRequest = input_pb2.InputRequest
InputResponse = input_pb2.InputResponse
ModelPreferences = input_pb2.ModelPreferences
Principal = common_pb2.Principal
Prompt = prompts_pb2.Prompt
PromptArgument = prompts_pb2.PromptArgument
PromptMessage = prompts_pb2.PromptMessage
PromptResult = prompts_pb2.GetPromptResult
Resource = content_pb2.Resource
ResourceContents = content_pb2.ResourceContents
ResourceTemplate = resources_pb2.ResourceTemplate
Root = input_pb2.Root
SamplingContent = input_pb2.SamplingContent
SamplingMessage = input_pb2.SamplingMessage
SamplingRequest = input_pb2.CreateMessage
SamplingResult = input_pb2.CreateMessageResult
Skill = resources_pb2.Skill
SkillFile = resources_pb2.SkillFile
Tool = input_pb2.Tool

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LEVELS: tuple[Level, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The levels of a log message by RFC 5424, in rising order. The number of one in the contract is its place here plus one."""

RoleName = Literal["user", "assistant"]


def role(name: RoleName) -> common_pb2.Role:
    """The contract's role of a name."""
    return common_pb2.ROLE_USER if name == "user" else common_pb2.ROLE_ASSISTANT


def duration(seconds: float) -> Duration:
    """A duration as the contract has it, of whole milliseconds."""
    made = Duration()
    made.FromMilliseconds(int(seconds * 1000))
    return made
