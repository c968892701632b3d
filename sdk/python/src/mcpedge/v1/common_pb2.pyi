from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_USER: _ClassVar[Role]
    ROLE_ASSISTANT: _ClassVar[Role]

class LogLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOG_LEVEL_UNSPECIFIED: _ClassVar[LogLevel]
    LOG_LEVEL_DEBUG: _ClassVar[LogLevel]
    LOG_LEVEL_INFO: _ClassVar[LogLevel]
    LOG_LEVEL_NOTICE: _ClassVar[LogLevel]
    LOG_LEVEL_WARNING: _ClassVar[LogLevel]
    LOG_LEVEL_ERROR: _ClassVar[LogLevel]
    LOG_LEVEL_CRITICAL: _ClassVar[LogLevel]
    LOG_LEVEL_ALERT: _ClassVar[LogLevel]
    LOG_LEVEL_EMERGENCY: _ClassVar[LogLevel]

class CacheScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CACHE_SCOPE_UNSPECIFIED: _ClassVar[CacheScope]
    CACHE_SCOPE_PUBLIC: _ClassVar[CacheScope]
    CACHE_SCOPE_PRIVATE: _ClassVar[CacheScope]

class FailureReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAILURE_REASON_UNSPECIFIED: _ClassVar[FailureReason]
    FAILURE_REASON_INVALID_ARGUMENT: _ClassVar[FailureReason]
    FAILURE_REASON_NOT_FOUND: _ClassVar[FailureReason]
    FAILURE_REASON_FAILED_PRECONDITION: _ClassVar[FailureReason]
    FAILURE_REASON_PERMISSION_DENIED: _ClassVar[FailureReason]
    FAILURE_REASON_RESOURCE_EXHAUSTED: _ClassVar[FailureReason]
    FAILURE_REASON_UNAVAILABLE: _ClassVar[FailureReason]
    FAILURE_REASON_DEADLINE_EXCEEDED: _ClassVar[FailureReason]
    FAILURE_REASON_INTERNAL: _ClassVar[FailureReason]
ROLE_UNSPECIFIED: Role
ROLE_USER: Role
ROLE_ASSISTANT: Role
LOG_LEVEL_UNSPECIFIED: LogLevel
LOG_LEVEL_DEBUG: LogLevel
LOG_LEVEL_INFO: LogLevel
LOG_LEVEL_NOTICE: LogLevel
LOG_LEVEL_WARNING: LogLevel
LOG_LEVEL_ERROR: LogLevel
LOG_LEVEL_CRITICAL: LogLevel
LOG_LEVEL_ALERT: LogLevel
LOG_LEVEL_EMERGENCY: LogLevel
CACHE_SCOPE_UNSPECIFIED: CacheScope
CACHE_SCOPE_PUBLIC: CacheScope
CACHE_SCOPE_PRIVATE: CacheScope
FAILURE_REASON_UNSPECIFIED: FailureReason
FAILURE_REASON_INVALID_ARGUMENT: FailureReason
FAILURE_REASON_NOT_FOUND: FailureReason
FAILURE_REASON_FAILED_PRECONDITION: FailureReason
FAILURE_REASON_PERMISSION_DENIED: FailureReason
FAILURE_REASON_RESOURCE_EXHAUSTED: FailureReason
FAILURE_REASON_UNAVAILABLE: FailureReason
FAILURE_REASON_DEADLINE_EXCEEDED: FailureReason
FAILURE_REASON_INTERNAL: FailureReason

class Icon(_message.Message):
    __slots__ = ("src", "mime_type", "sizes", "theme")
    SRC_FIELD_NUMBER: _ClassVar[int]
    MIME_TYPE_FIELD_NUMBER: _ClassVar[int]
    SIZES_FIELD_NUMBER: _ClassVar[int]
    THEME_FIELD_NUMBER: _ClassVar[int]
    src: str
    mime_type: str
    sizes: _containers.RepeatedScalarFieldContainer[str]
    theme: str
    def __init__(self, src: _Optional[str] = ..., mime_type: _Optional[str] = ..., sizes: _Optional[_Iterable[str]] = ..., theme: _Optional[str] = ...) -> None: ...

class Annotations(_message.Message):
    __slots__ = ("audience", "priority", "last_modified")
    AUDIENCE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    LAST_MODIFIED_FIELD_NUMBER: _ClassVar[int]
    audience: _containers.RepeatedScalarFieldContainer[Role]
    priority: float
    last_modified: str
    def __init__(self, audience: _Optional[_Iterable[_Union[Role, str]]] = ..., priority: _Optional[float] = ..., last_modified: _Optional[str] = ...) -> None: ...

class Implementation(_message.Message):
    __slots__ = ("name", "version", "title", "description", "website_url", "icons")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    WEBSITE_URL_FIELD_NUMBER: _ClassVar[int]
    ICONS_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    title: str
    description: str
    website_url: str
    icons: _containers.RepeatedCompositeFieldContainer[Icon]
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., website_url: _Optional[str] = ..., icons: _Optional[_Iterable[_Union[Icon, _Mapping]]] = ...) -> None: ...

class Principal(_message.Message):
    __slots__ = ("subject", "issuer", "scopes", "roles", "client_id", "actor", "claims_json", "subject_is_client")
    class ClaimsJsonEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    ISSUER_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    CLAIMS_JSON_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_IS_CLIENT_FIELD_NUMBER: _ClassVar[int]
    subject: str
    issuer: str
    scopes: _containers.RepeatedScalarFieldContainer[str]
    roles: _containers.RepeatedScalarFieldContainer[str]
    client_id: str
    actor: str
    claims_json: _containers.ScalarMap[str, str]
    subject_is_client: bool
    def __init__(self, subject: _Optional[str] = ..., issuer: _Optional[str] = ..., scopes: _Optional[_Iterable[str]] = ..., roles: _Optional[_Iterable[str]] = ..., client_id: _Optional[str] = ..., actor: _Optional[str] = ..., claims_json: _Optional[_Mapping[str, str]] = ..., subject_is_client: bool = ...) -> None: ...

class CacheHint(_message.Message):
    __slots__ = ("ttl", "scope")
    TTL_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    ttl: _duration_pb2.Duration
    scope: CacheScope
    def __init__(self, ttl: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., scope: _Optional[_Union[CacheScope, str]] = ...) -> None: ...

class ClientCapabilities(_message.Message):
    __slots__ = ("elicitation", "sampling", "roots", "extensions_json", "extra_json")
    class ExtensionsJsonEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ELICITATION_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_FIELD_NUMBER: _ClassVar[int]
    ROOTS_FIELD_NUMBER: _ClassVar[int]
    EXTENSIONS_JSON_FIELD_NUMBER: _ClassVar[int]
    EXTRA_JSON_FIELD_NUMBER: _ClassVar[int]
    elicitation: ElicitationCapability
    sampling: SamplingCapability
    roots: RootsCapability
    extensions_json: _containers.ScalarMap[str, str]
    extra_json: str
    def __init__(self, elicitation: _Optional[_Union[ElicitationCapability, _Mapping]] = ..., sampling: _Optional[_Union[SamplingCapability, _Mapping]] = ..., roots: _Optional[_Union[RootsCapability, _Mapping]] = ..., extensions_json: _Optional[_Mapping[str, str]] = ..., extra_json: _Optional[str] = ...) -> None: ...

class ElicitationCapability(_message.Message):
    __slots__ = ("form", "url", "extra_json")
    FORM_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    EXTRA_JSON_FIELD_NUMBER: _ClassVar[int]
    form: bool
    url: bool
    extra_json: str
    def __init__(self, form: bool = ..., url: bool = ..., extra_json: _Optional[str] = ...) -> None: ...

class SamplingCapability(_message.Message):
    __slots__ = ("context", "tools", "extra_json")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    EXTRA_JSON_FIELD_NUMBER: _ClassVar[int]
    context: bool
    tools: bool
    extra_json: str
    def __init__(self, context: bool = ..., tools: bool = ..., extra_json: _Optional[str] = ...) -> None: ...

class RootsCapability(_message.Message):
    __slots__ = ("list_changed", "extra_json")
    LIST_CHANGED_FIELD_NUMBER: _ClassVar[int]
    EXTRA_JSON_FIELD_NUMBER: _ClassVar[int]
    list_changed: bool
    extra_json: str
    def __init__(self, list_changed: bool = ..., extra_json: _Optional[str] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("progress", "total", "message", "meta_json")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    progress: float
    total: float
    message: str
    meta_json: str
    def __init__(self, progress: _Optional[float] = ..., total: _Optional[float] = ..., message: _Optional[str] = ..., meta_json: _Optional[str] = ...) -> None: ...

class LogMessage(_message.Message):
    __slots__ = ("level", "logger", "data_json", "meta_json")
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    LOGGER_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    level: LogLevel
    logger: str
    data_json: str
    meta_json: str
    def __init__(self, level: _Optional[_Union[LogLevel, str]] = ..., logger: _Optional[str] = ..., data_json: _Optional[str] = ..., meta_json: _Optional[str] = ...) -> None: ...

class Failure(_message.Message):
    __slots__ = ("reason", "message", "data_json", "scopes")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    reason: FailureReason
    message: str
    data_json: str
    scopes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, reason: _Optional[_Union[FailureReason, str]] = ..., message: _Optional[str] = ..., data_json: _Optional[str] = ..., scopes: _Optional[_Iterable[str]] = ...) -> None: ...

class RequestContext(_message.Message):
    __slots__ = ("call_id", "attempt", "round", "principal", "client_info", "client_capabilities", "log_level", "progress_wanted", "meta_json", "task", "checkpoints")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    CLIENT_INFO_FIELD_NUMBER: _ClassVar[int]
    CLIENT_CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    LOG_LEVEL_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_WANTED_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    attempt: int
    round: int
    principal: Principal
    client_info: Implementation
    client_capabilities: ClientCapabilities
    log_level: LogLevel
    progress_wanted: bool
    meta_json: str
    task: TaskContext
    checkpoints: bool
    def __init__(self, call_id: _Optional[str] = ..., attempt: _Optional[int] = ..., round: _Optional[int] = ..., principal: _Optional[_Union[Principal, _Mapping]] = ..., client_info: _Optional[_Union[Implementation, _Mapping]] = ..., client_capabilities: _Optional[_Union[ClientCapabilities, _Mapping]] = ..., log_level: _Optional[_Union[LogLevel, str]] = ..., progress_wanted: bool = ..., meta_json: _Optional[str] = ..., task: _Optional[_Union[TaskContext, _Mapping]] = ..., checkpoints: bool = ...) -> None: ...

class TaskContext(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...
