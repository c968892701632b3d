from google.protobuf import duration_pb2 as _duration_pb2
from mcpedge.v1 import common_pb2 as _common_pb2
from mcpedge.v1 import content_pb2 as _content_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ElicitAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ELICIT_ACTION_UNSPECIFIED: _ClassVar[ElicitAction]
    ELICIT_ACTION_ACCEPT: _ClassVar[ElicitAction]
    ELICIT_ACTION_DECLINE: _ClassVar[ElicitAction]
    ELICIT_ACTION_CANCEL: _ClassVar[ElicitAction]

class TaskMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_MODE_UNSPECIFIED: _ClassVar[TaskMode]
    TASK_MODE_FORBIDDEN: _ClassVar[TaskMode]
    TASK_MODE_OPTIONAL: _ClassVar[TaskMode]
    TASK_MODE_REQUIRED: _ClassVar[TaskMode]

class TaskStart(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_START_UNSPECIFIED: _ClassVar[TaskStart]
    TASK_START_AT_ONCE: _ClassVar[TaskStart]
    TASK_START_DEFERRED: _ClassVar[TaskStart]
ELICIT_ACTION_UNSPECIFIED: ElicitAction
ELICIT_ACTION_ACCEPT: ElicitAction
ELICIT_ACTION_DECLINE: ElicitAction
ELICIT_ACTION_CANCEL: ElicitAction
TASK_MODE_UNSPECIFIED: TaskMode
TASK_MODE_FORBIDDEN: TaskMode
TASK_MODE_OPTIONAL: TaskMode
TASK_MODE_REQUIRED: TaskMode
TASK_START_UNSPECIFIED: TaskStart
TASK_START_AT_ONCE: TaskStart
TASK_START_DEFERRED: TaskStart

class InputRequired(_message.Message):
    __slots__ = ("requests", "state", "retry_after", "repeatable")
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    REPEATABLE_FIELD_NUMBER: _ClassVar[int]
    requests: _containers.RepeatedCompositeFieldContainer[InputRequest]
    state: bytes
    retry_after: _duration_pb2.Duration
    repeatable: bool
    def __init__(self, requests: _Optional[_Iterable[_Union[InputRequest, _Mapping]]] = ..., state: _Optional[bytes] = ..., retry_after: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., repeatable: bool = ...) -> None: ...

class InputRequest(_message.Message):
    __slots__ = ("key", "elicit_form", "elicit_url", "create_message", "list_roots", "raw_json")
    KEY_FIELD_NUMBER: _ClassVar[int]
    ELICIT_FORM_FIELD_NUMBER: _ClassVar[int]
    ELICIT_URL_FIELD_NUMBER: _ClassVar[int]
    CREATE_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    LIST_ROOTS_FIELD_NUMBER: _ClassVar[int]
    RAW_JSON_FIELD_NUMBER: _ClassVar[int]
    key: str
    elicit_form: ElicitForm
    elicit_url: ElicitUrl
    create_message: CreateMessage
    list_roots: ListRoots
    raw_json: str
    def __init__(self, key: _Optional[str] = ..., elicit_form: _Optional[_Union[ElicitForm, _Mapping]] = ..., elicit_url: _Optional[_Union[ElicitUrl, _Mapping]] = ..., create_message: _Optional[_Union[CreateMessage, _Mapping]] = ..., list_roots: _Optional[_Union[ListRoots, _Mapping]] = ..., raw_json: _Optional[str] = ...) -> None: ...

class InputResponse(_message.Message):
    __slots__ = ("key", "elicit", "create_message", "list_roots", "raw_json")
    KEY_FIELD_NUMBER: _ClassVar[int]
    ELICIT_FIELD_NUMBER: _ClassVar[int]
    CREATE_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    LIST_ROOTS_FIELD_NUMBER: _ClassVar[int]
    RAW_JSON_FIELD_NUMBER: _ClassVar[int]
    key: str
    elicit: ElicitResult
    create_message: CreateMessageResult
    list_roots: ListRootsResult
    raw_json: str
    def __init__(self, key: _Optional[str] = ..., elicit: _Optional[_Union[ElicitResult, _Mapping]] = ..., create_message: _Optional[_Union[CreateMessageResult, _Mapping]] = ..., list_roots: _Optional[_Union[ListRootsResult, _Mapping]] = ..., raw_json: _Optional[str] = ...) -> None: ...

class ElicitForm(_message.Message):
    __slots__ = ("message", "requested_schema_json", "meta_json")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    message: str
    requested_schema_json: str
    meta_json: str
    def __init__(self, message: _Optional[str] = ..., requested_schema_json: _Optional[str] = ..., meta_json: _Optional[str] = ...) -> None: ...

class ElicitUrl(_message.Message):
    __slots__ = ("message", "url", "meta_json")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    message: str
    url: str
    meta_json: str
    def __init__(self, message: _Optional[str] = ..., url: _Optional[str] = ..., meta_json: _Optional[str] = ...) -> None: ...

class ElicitResult(_message.Message):
    __slots__ = ("action", "content_json")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    CONTENT_JSON_FIELD_NUMBER: _ClassVar[int]
    action: ElicitAction
    content_json: str
    def __init__(self, action: _Optional[_Union[ElicitAction, str]] = ..., content_json: _Optional[str] = ...) -> None: ...

class CreateMessage(_message.Message):
    __slots__ = ("messages", "max_tokens", "system_prompt", "temperature", "stop_sequences", "model_preferences", "include_context", "tools", "tool_choice_mode", "metadata_json", "meta_json")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_PROMPT_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    STOP_SEQUENCES_FIELD_NUMBER: _ClassVar[int]
    MODEL_PREFERENCES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    TOOL_CHOICE_MODE_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[SamplingMessage]
    max_tokens: int
    system_prompt: str
    temperature: float
    stop_sequences: _containers.RepeatedScalarFieldContainer[str]
    model_preferences: ModelPreferences
    include_context: str
    tools: _containers.RepeatedCompositeFieldContainer[Tool]
    tool_choice_mode: str
    metadata_json: str
    meta_json: str
    def __init__(self, messages: _Optional[_Iterable[_Union[SamplingMessage, _Mapping]]] = ..., max_tokens: _Optional[int] = ..., system_prompt: _Optional[str] = ..., temperature: _Optional[float] = ..., stop_sequences: _Optional[_Iterable[str]] = ..., model_preferences: _Optional[_Union[ModelPreferences, _Mapping]] = ..., include_context: _Optional[str] = ..., tools: _Optional[_Iterable[_Union[Tool, _Mapping]]] = ..., tool_choice_mode: _Optional[str] = ..., metadata_json: _Optional[str] = ..., meta_json: _Optional[str] = ...) -> None: ...

class ModelPreferences(_message.Message):
    __slots__ = ("hints", "cost_priority", "speed_priority", "intelligence_priority")
    HINTS_FIELD_NUMBER: _ClassVar[int]
    COST_PRIORITY_FIELD_NUMBER: _ClassVar[int]
    SPEED_PRIORITY_FIELD_NUMBER: _ClassVar[int]
    INTELLIGENCE_PRIORITY_FIELD_NUMBER: _ClassVar[int]
    hints: _containers.RepeatedScalarFieldContainer[str]
    cost_priority: float
    speed_priority: float
    intelligence_priority: float
    def __init__(self, hints: _Optional[_Iterable[str]] = ..., cost_priority: _Optional[float] = ..., speed_priority: _Optional[float] = ..., intelligence_priority: _Optional[float] = ...) -> None: ...

class SamplingMessage(_message.Message):
    __slots__ = ("role", "content", "meta_json")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    role: _common_pb2.Role
    content: _containers.RepeatedCompositeFieldContainer[SamplingContent]
    meta_json: str
    def __init__(self, role: _Optional[_Union[_common_pb2.Role, str]] = ..., content: _Optional[_Iterable[_Union[SamplingContent, _Mapping]]] = ..., meta_json: _Optional[str] = ...) -> None: ...

class SamplingContent(_message.Message):
    __slots__ = ("text", "image", "audio", "tool_use", "tool_result", "raw_json", "annotations", "meta_json")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    AUDIO_FIELD_NUMBER: _ClassVar[int]
    TOOL_USE_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULT_FIELD_NUMBER: _ClassVar[int]
    RAW_JSON_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    text: _content_pb2.TextContent
    image: _content_pb2.ImageContent
    audio: _content_pb2.AudioContent
    tool_use: ToolUse
    tool_result: ToolResult
    raw_json: str
    annotations: _common_pb2.Annotations
    meta_json: str
    def __init__(self, text: _Optional[_Union[_content_pb2.TextContent, _Mapping]] = ..., image: _Optional[_Union[_content_pb2.ImageContent, _Mapping]] = ..., audio: _Optional[_Union[_content_pb2.AudioContent, _Mapping]] = ..., tool_use: _Optional[_Union[ToolUse, _Mapping]] = ..., tool_result: _Optional[_Union[ToolResult, _Mapping]] = ..., raw_json: _Optional[str] = ..., annotations: _Optional[_Union[_common_pb2.Annotations, _Mapping]] = ..., meta_json: _Optional[str] = ...) -> None: ...

class ToolUse(_message.Message):
    __slots__ = ("id", "name", "input_json")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    input_json: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., input_json: _Optional[str] = ...) -> None: ...

class ToolResult(_message.Message):
    __slots__ = ("tool_use_id", "content", "structured_content_json", "is_error")
    TOOL_USE_ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    STRUCTURED_CONTENT_JSON_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    tool_use_id: str
    content: _containers.RepeatedCompositeFieldContainer[_content_pb2.ContentBlock]
    structured_content_json: str
    is_error: bool
    def __init__(self, tool_use_id: _Optional[str] = ..., content: _Optional[_Iterable[_Union[_content_pb2.ContentBlock, _Mapping]]] = ..., structured_content_json: _Optional[str] = ..., is_error: bool = ...) -> None: ...

class CreateMessageResult(_message.Message):
    __slots__ = ("role", "content", "model", "stop_reason", "meta_json")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    STOP_REASON_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    role: _common_pb2.Role
    content: _containers.RepeatedCompositeFieldContainer[SamplingContent]
    model: str
    stop_reason: str
    meta_json: str
    def __init__(self, role: _Optional[_Union[_common_pb2.Role, str]] = ..., content: _Optional[_Iterable[_Union[SamplingContent, _Mapping]]] = ..., model: _Optional[str] = ..., stop_reason: _Optional[str] = ..., meta_json: _Optional[str] = ...) -> None: ...

class ListRoots(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListRootsResult(_message.Message):
    __slots__ = ("roots",)
    ROOTS_FIELD_NUMBER: _ClassVar[int]
    roots: _containers.RepeatedCompositeFieldContainer[Root]
    def __init__(self, roots: _Optional[_Iterable[_Union[Root, _Mapping]]] = ...) -> None: ...

class Root(_message.Message):
    __slots__ = ("uri", "name", "meta_json")
    URI_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    uri: str
    name: str
    meta_json: str
    def __init__(self, uri: _Optional[str] = ..., name: _Optional[str] = ..., meta_json: _Optional[str] = ...) -> None: ...

class Tool(_message.Message):
    __slots__ = ("name", "title", "description", "input_schema_json", "output_schema_json", "annotations", "icons", "meta_json", "task_support")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    ICONS_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    TASK_SUPPORT_FIELD_NUMBER: _ClassVar[int]
    name: str
    title: str
    description: str
    input_schema_json: str
    output_schema_json: str
    annotations: ToolAnnotations
    icons: _containers.RepeatedCompositeFieldContainer[_common_pb2.Icon]
    meta_json: str
    task_support: TaskSupport
    def __init__(self, name: _Optional[str] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., input_schema_json: _Optional[str] = ..., output_schema_json: _Optional[str] = ..., annotations: _Optional[_Union[ToolAnnotations, _Mapping]] = ..., icons: _Optional[_Iterable[_Union[_common_pb2.Icon, _Mapping]]] = ..., meta_json: _Optional[str] = ..., task_support: _Optional[_Union[TaskSupport, _Mapping]] = ...) -> None: ...

class TaskSupport(_message.Message):
    __slots__ = ("mode", "start", "poll_interval")
    MODE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    POLL_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    mode: TaskMode
    start: TaskStart
    poll_interval: _duration_pb2.Duration
    def __init__(self, mode: _Optional[_Union[TaskMode, str]] = ..., start: _Optional[_Union[TaskStart, str]] = ..., poll_interval: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ToolAnnotations(_message.Message):
    __slots__ = ("title", "read_only", "destructive", "idempotent", "open_world")
    TITLE_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    DESTRUCTIVE_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENT_FIELD_NUMBER: _ClassVar[int]
    OPEN_WORLD_FIELD_NUMBER: _ClassVar[int]
    title: str
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    def __init__(self, title: _Optional[str] = ..., read_only: bool = ..., destructive: bool = ..., idempotent: bool = ..., open_world: bool = ...) -> None: ...
