from mcpedge.v1 import common_pb2 as _common_pb2
from mcpedge.v1 import content_pb2 as _content_pb2
from mcpedge.v1 import input_pb2 as _input_pb2
from mcpedge.v1 import prompts_pb2 as _prompts_pb2
from mcpedge.v1 import resources_pb2 as _resources_pb2
from mcpedge.v1 import tools_pb2 as _tools_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TargetKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TARGET_KIND_UNSPECIFIED: _ClassVar[TargetKind]
    TARGET_KIND_TOOL: _ClassVar[TargetKind]
    TARGET_KIND_PROMPT: _ClassVar[TargetKind]
    TARGET_KIND_RESOURCE: _ClassVar[TargetKind]
    TARGET_KIND_TEMPLATE: _ClassVar[TargetKind]
TARGET_KIND_UNSPECIFIED: TargetKind
TARGET_KIND_TOOL: TargetKind
TARGET_KIND_PROMPT: TargetKind
TARGET_KIND_RESOURCE: TargetKind
TARGET_KIND_TEMPLATE: TargetKind

class CheckRequestRequest(_message.Message):
    __slots__ = ("call", "answers")
    CALL_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    call: Call
    answers: _containers.RepeatedCompositeFieldContainer[Answer]
    def __init__(self, call: _Optional[_Union[Call, _Mapping]] = ..., answers: _Optional[_Iterable[_Union[Answer, _Mapping]]] = ...) -> None: ...

class CheckRequestResponse(_message.Message):
    __slots__ = ("replace", "deny")
    PASS_FIELD_NUMBER: _ClassVar[int]
    REPLACE_FIELD_NUMBER: _ClassVar[int]
    DENY_FIELD_NUMBER: _ClassVar[int]
    replace: RequestReplacement
    deny: Deny
    def __init__(self, replace: _Optional[_Union[RequestReplacement, _Mapping]] = ..., deny: _Optional[_Union[Deny, _Mapping]] = ..., **kwargs) -> None: ...

class CheckResultRequest(_message.Message):
    __slots__ = ("call", "outcome")
    CALL_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    call: Call
    outcome: Outcome
    def __init__(self, call: _Optional[_Union[Call, _Mapping]] = ..., outcome: _Optional[_Union[Outcome, _Mapping]] = ...) -> None: ...

class CheckResultResponse(_message.Message):
    __slots__ = ("replace", "deny")
    PASS_FIELD_NUMBER: _ClassVar[int]
    REPLACE_FIELD_NUMBER: _ClassVar[int]
    DENY_FIELD_NUMBER: _ClassVar[int]
    replace: Outcome
    deny: Deny
    def __init__(self, replace: _Optional[_Union[Outcome, _Mapping]] = ..., deny: _Optional[_Union[Deny, _Mapping]] = ..., **kwargs) -> None: ...

class CheckListRequest(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[ListEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[ListEntry, _Mapping]]] = ...) -> None: ...

class CheckListResponse(_message.Message):
    __slots__ = ("verdicts",)
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    verdicts: _containers.RepeatedCompositeFieldContainer[ListVerdict]
    def __init__(self, verdicts: _Optional[_Iterable[_Union[ListVerdict, _Mapping]]] = ...) -> None: ...

class ListEntry(_message.Message):
    __slots__ = ("target", "title", "description", "tool", "prompt", "resource", "template")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    target: Target
    title: str
    description: str
    tool: _input_pb2.Tool
    prompt: _prompts_pb2.Prompt
    resource: _content_pb2.Resource
    template: _resources_pb2.ResourceTemplate
    def __init__(self, target: _Optional[_Union[Target, _Mapping]] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., tool: _Optional[_Union[_input_pb2.Tool, _Mapping]] = ..., prompt: _Optional[_Union[_prompts_pb2.Prompt, _Mapping]] = ..., resource: _Optional[_Union[_content_pb2.Resource, _Mapping]] = ..., template: _Optional[_Union[_resources_pb2.ResourceTemplate, _Mapping]] = ...) -> None: ...

class ListVerdict(_message.Message):
    __slots__ = ("replace", "deny")
    PASS_FIELD_NUMBER: _ClassVar[int]
    REPLACE_FIELD_NUMBER: _ClassVar[int]
    DENY_FIELD_NUMBER: _ClassVar[int]
    replace: ListTexts
    deny: Deny
    def __init__(self, replace: _Optional[_Union[ListTexts, _Mapping]] = ..., deny: _Optional[_Union[Deny, _Mapping]] = ..., **kwargs) -> None: ...

class ListTexts(_message.Message):
    __slots__ = ("title", "description")
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    title: str
    description: str
    def __init__(self, title: _Optional[str] = ..., description: _Optional[str] = ...) -> None: ...

class Call(_message.Message):
    __slots__ = ("method", "set", "target", "arguments_json", "call_id", "round", "attempt", "task", "principal", "client_info")
    METHOD_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    CLIENT_INFO_FIELD_NUMBER: _ClassVar[int]
    method: str
    set: str
    target: Target
    arguments_json: str
    call_id: str
    round: int
    attempt: int
    task: bool
    principal: _common_pb2.Principal
    client_info: _common_pb2.Implementation
    def __init__(self, method: _Optional[str] = ..., set: _Optional[str] = ..., target: _Optional[_Union[Target, _Mapping]] = ..., arguments_json: _Optional[str] = ..., call_id: _Optional[str] = ..., round: _Optional[int] = ..., attempt: _Optional[int] = ..., task: bool = ..., principal: _Optional[_Union[_common_pb2.Principal, _Mapping]] = ..., client_info: _Optional[_Union[_common_pb2.Implementation, _Mapping]] = ...) -> None: ...

class Target(_message.Message):
    __slots__ = ("kind", "backend", "name", "own_name", "shown_name", "hints")
    KIND_FIELD_NUMBER: _ClassVar[int]
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OWN_NAME_FIELD_NUMBER: _ClassVar[int]
    SHOWN_NAME_FIELD_NUMBER: _ClassVar[int]
    HINTS_FIELD_NUMBER: _ClassVar[int]
    kind: TargetKind
    backend: str
    name: str
    own_name: str
    shown_name: str
    hints: ToolHints
    def __init__(self, kind: _Optional[_Union[TargetKind, str]] = ..., backend: _Optional[str] = ..., name: _Optional[str] = ..., own_name: _Optional[str] = ..., shown_name: _Optional[str] = ..., hints: _Optional[_Union[ToolHints, _Mapping]] = ...) -> None: ...

class ToolHints(_message.Message):
    __slots__ = ("read_only", "destructive", "idempotent", "open_world")
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    DESTRUCTIVE_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENT_FIELD_NUMBER: _ClassVar[int]
    OPEN_WORLD_FIELD_NUMBER: _ClassVar[int]
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    def __init__(self, read_only: bool = ..., destructive: bool = ..., idempotent: bool = ..., open_world: bool = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("key", "method", "result_json")
    KEY_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    RESULT_JSON_FIELD_NUMBER: _ClassVar[int]
    key: str
    method: str
    result_json: str
    def __init__(self, key: _Optional[str] = ..., method: _Optional[str] = ..., result_json: _Optional[str] = ...) -> None: ...

class RequestReplacement(_message.Message):
    __slots__ = ("arguments_json", "answers")
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    arguments_json: str
    answers: _containers.RepeatedCompositeFieldContainer[Answer]
    def __init__(self, arguments_json: _Optional[str] = ..., answers: _Optional[_Iterable[_Union[Answer, _Mapping]]] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ("tool", "resource", "prompt", "values", "error")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    tool: _tools_pb2.CallToolResult
    resource: _resources_pb2.ReadResourceResult
    prompt: _prompts_pb2.GetPromptResult
    values: Values
    error: Error
    def __init__(self, tool: _Optional[_Union[_tools_pb2.CallToolResult, _Mapping]] = ..., resource: _Optional[_Union[_resources_pb2.ReadResourceResult, _Mapping]] = ..., prompt: _Optional[_Union[_prompts_pb2.GetPromptResult, _Mapping]] = ..., values: _Optional[_Union[Values, _Mapping]] = ..., error: _Optional[_Union[Error, _Mapping]] = ...) -> None: ...

class Values(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, values: _Optional[_Iterable[str]] = ...) -> None: ...

class Error(_message.Message):
    __slots__ = ("message", "data_json")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    message: str
    data_json: str
    def __init__(self, message: _Optional[str] = ..., data_json: _Optional[str] = ...) -> None: ...

class Pass(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Deny(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...
