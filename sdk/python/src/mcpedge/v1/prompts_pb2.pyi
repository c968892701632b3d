from mcpedge.v1 import common_pb2 as _common_pb2
from mcpedge.v1 import content_pb2 as _content_pb2
from mcpedge.v1 import input_pb2 as _input_pb2
from mcpedge.v1 import tools_pb2 as _tools_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Prompt(_message.Message):
    __slots__ = ("name", "title", "description", "arguments", "icons", "meta_json")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    ICONS_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    name: str
    title: str
    description: str
    arguments: _containers.RepeatedCompositeFieldContainer[PromptArgument]
    icons: _containers.RepeatedCompositeFieldContainer[_common_pb2.Icon]
    meta_json: str
    def __init__(self, name: _Optional[str] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., arguments: _Optional[_Iterable[_Union[PromptArgument, _Mapping]]] = ..., icons: _Optional[_Iterable[_Union[_common_pb2.Icon, _Mapping]]] = ..., meta_json: _Optional[str] = ...) -> None: ...

class PromptArgument(_message.Message):
    __slots__ = ("name", "title", "description", "required")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    name: str
    title: str
    description: str
    required: bool
    def __init__(self, name: _Optional[str] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., required: bool = ...) -> None: ...

class ListPromptsRequest(_message.Message):
    __slots__ = ("principal", "page_token", "page_size")
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    principal: _common_pb2.Principal
    page_token: str
    page_size: int
    def __init__(self, principal: _Optional[_Union[_common_pb2.Principal, _Mapping]] = ..., page_token: _Optional[str] = ..., page_size: _Optional[int] = ...) -> None: ...

class ListPromptsResponse(_message.Message):
    __slots__ = ("prompts", "next_page_token", "cache")
    PROMPTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CACHE_FIELD_NUMBER: _ClassVar[int]
    prompts: _containers.RepeatedCompositeFieldContainer[Prompt]
    next_page_token: str
    cache: _common_pb2.CacheHint
    def __init__(self, prompts: _Optional[_Iterable[_Union[Prompt, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., cache: _Optional[_Union[_common_pb2.CacheHint, _Mapping]] = ...) -> None: ...

class GetPromptRequest(_message.Message):
    __slots__ = ("name", "arguments", "context", "input_responses", "state")
    class ArgumentsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    INPUT_RESPONSES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    name: str
    arguments: _containers.ScalarMap[str, str]
    context: _common_pb2.RequestContext
    input_responses: _containers.RepeatedCompositeFieldContainer[_input_pb2.InputResponse]
    state: bytes
    def __init__(self, name: _Optional[str] = ..., arguments: _Optional[_Mapping[str, str]] = ..., context: _Optional[_Union[_common_pb2.RequestContext, _Mapping]] = ..., input_responses: _Optional[_Iterable[_Union[_input_pb2.InputResponse, _Mapping]]] = ..., state: _Optional[bytes] = ...) -> None: ...

class GetPromptResponse(_message.Message):
    __slots__ = ("progress", "log", "result", "input_required", "failure")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    INPUT_REQUIRED_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    progress: _common_pb2.Progress
    log: _common_pb2.LogMessage
    result: GetPromptResult
    input_required: _input_pb2.InputRequired
    failure: _common_pb2.Failure
    def __init__(self, progress: _Optional[_Union[_common_pb2.Progress, _Mapping]] = ..., log: _Optional[_Union[_common_pb2.LogMessage, _Mapping]] = ..., result: _Optional[_Union[GetPromptResult, _Mapping]] = ..., input_required: _Optional[_Union[_input_pb2.InputRequired, _Mapping]] = ..., failure: _Optional[_Union[_common_pb2.Failure, _Mapping]] = ...) -> None: ...

class GetPromptResult(_message.Message):
    __slots__ = ("description", "messages", "meta_json")
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    description: str
    messages: _containers.RepeatedCompositeFieldContainer[PromptMessage]
    meta_json: str
    def __init__(self, description: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[PromptMessage, _Mapping]]] = ..., meta_json: _Optional[str] = ...) -> None: ...

class PromptMessage(_message.Message):
    __slots__ = ("role", "content")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    role: _common_pb2.Role
    content: _content_pb2.ContentBlock
    def __init__(self, role: _Optional[_Union[_common_pb2.Role, str]] = ..., content: _Optional[_Union[_content_pb2.ContentBlock, _Mapping]] = ...) -> None: ...

class CompletePromptRequest(_message.Message):
    __slots__ = ("name", "argument_name", "argument_value", "context_arguments", "context")
    class ContextArgumentsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_VALUE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    name: str
    argument_name: str
    argument_value: str
    context_arguments: _containers.ScalarMap[str, str]
    context: _common_pb2.RequestContext
    def __init__(self, name: _Optional[str] = ..., argument_name: _Optional[str] = ..., argument_value: _Optional[str] = ..., context_arguments: _Optional[_Mapping[str, str]] = ..., context: _Optional[_Union[_common_pb2.RequestContext, _Mapping]] = ...) -> None: ...

class CompletePromptResponse(_message.Message):
    __slots__ = ("values", "total", "has_more")
    VALUES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[str]
    total: int
    has_more: bool
    def __init__(self, values: _Optional[_Iterable[str]] = ..., total: _Optional[int] = ..., has_more: bool = ...) -> None: ...

class WatchPromptsRequest(_message.Message):
    __slots__ = ("principal",)
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    principal: _common_pb2.Principal
    def __init__(self, principal: _Optional[_Union[_common_pb2.Principal, _Mapping]] = ...) -> None: ...

class WatchPromptsResponse(_message.Message):
    __slots__ = ("started", "changed")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    started: _tools_pb2.WatchStarted
    changed: _tools_pb2.ListChanged
    def __init__(self, started: _Optional[_Union[_tools_pb2.WatchStarted, _Mapping]] = ..., changed: _Optional[_Union[_tools_pb2.ListChanged, _Mapping]] = ...) -> None: ...
