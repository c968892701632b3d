from mcpedge.v1 import common_pb2 as _common_pb2
from mcpedge.v1 import content_pb2 as _content_pb2
from mcpedge.v1 import input_pb2 as _input_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListToolsRequest(_message.Message):
    __slots__ = ("principal", "page_token", "page_size")
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    principal: _common_pb2.Principal
    page_token: str
    page_size: int
    def __init__(self, principal: _Optional[_Union[_common_pb2.Principal, _Mapping]] = ..., page_token: _Optional[str] = ..., page_size: _Optional[int] = ...) -> None: ...

class ListToolsResponse(_message.Message):
    __slots__ = ("tools", "next_page_token", "cache")
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CACHE_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[_input_pb2.Tool]
    next_page_token: str
    cache: _common_pb2.CacheHint
    def __init__(self, tools: _Optional[_Iterable[_Union[_input_pb2.Tool, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., cache: _Optional[_Union[_common_pb2.CacheHint, _Mapping]] = ...) -> None: ...

class CallToolRequest(_message.Message):
    __slots__ = ("name", "arguments_json", "context", "input_responses", "state")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    INPUT_RESPONSES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    name: str
    arguments_json: str
    context: _common_pb2.RequestContext
    input_responses: _containers.RepeatedCompositeFieldContainer[_input_pb2.InputResponse]
    state: bytes
    def __init__(self, name: _Optional[str] = ..., arguments_json: _Optional[str] = ..., context: _Optional[_Union[_common_pb2.RequestContext, _Mapping]] = ..., input_responses: _Optional[_Iterable[_Union[_input_pb2.InputResponse, _Mapping]]] = ..., state: _Optional[bytes] = ...) -> None: ...

class CallToolResponse(_message.Message):
    __slots__ = ("progress", "log", "result", "input_required", "failure", "defer", "checkpoint")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    INPUT_REQUIRED_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    DEFER_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    progress: _common_pb2.Progress
    log: _common_pb2.LogMessage
    result: CallToolResult
    input_required: _input_pb2.InputRequired
    failure: _common_pb2.Failure
    defer: Defer
    checkpoint: Checkpoint
    def __init__(self, progress: _Optional[_Union[_common_pb2.Progress, _Mapping]] = ..., log: _Optional[_Union[_common_pb2.LogMessage, _Mapping]] = ..., result: _Optional[_Union[CallToolResult, _Mapping]] = ..., input_required: _Optional[_Union[_input_pb2.InputRequired, _Mapping]] = ..., failure: _Optional[_Union[_common_pb2.Failure, _Mapping]] = ..., defer: _Optional[_Union[Defer, _Mapping]] = ..., checkpoint: _Optional[_Union[Checkpoint, _Mapping]] = ...) -> None: ...

class CancelCallRequest(_message.Message):
    __slots__ = ("name", "context", "state")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    name: str
    context: _common_pb2.RequestContext
    state: bytes
    def __init__(self, name: _Optional[str] = ..., context: _Optional[_Union[_common_pb2.RequestContext, _Mapping]] = ..., state: _Optional[bytes] = ...) -> None: ...

class CancelCallResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Defer(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Checkpoint(_message.Message):
    __slots__ = ("state",)
    STATE_FIELD_NUMBER: _ClassVar[int]
    state: bytes
    def __init__(self, state: _Optional[bytes] = ...) -> None: ...

class CallToolResult(_message.Message):
    __slots__ = ("content", "structured_content_json", "is_error", "meta_json")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    STRUCTURED_CONTENT_JSON_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    content: _containers.RepeatedCompositeFieldContainer[_content_pb2.ContentBlock]
    structured_content_json: str
    is_error: bool
    meta_json: str
    def __init__(self, content: _Optional[_Iterable[_Union[_content_pb2.ContentBlock, _Mapping]]] = ..., structured_content_json: _Optional[str] = ..., is_error: bool = ..., meta_json: _Optional[str] = ...) -> None: ...

class WatchToolsRequest(_message.Message):
    __slots__ = ("principal",)
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    principal: _common_pb2.Principal
    def __init__(self, principal: _Optional[_Union[_common_pb2.Principal, _Mapping]] = ...) -> None: ...

class WatchToolsResponse(_message.Message):
    __slots__ = ("started", "changed")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    started: WatchStarted
    changed: ListChanged
    def __init__(self, started: _Optional[_Union[WatchStarted, _Mapping]] = ..., changed: _Optional[_Union[ListChanged, _Mapping]] = ...) -> None: ...

class WatchStarted(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListChanged(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
