from mcpedge.v1 import common_pb2 as _common_pb2
from mcpedge.v1 import content_pb2 as _content_pb2
from mcpedge.v1 import input_pb2 as _input_pb2
from mcpedge.v1 import tools_pb2 as _tools_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ResourceTemplate(_message.Message):
    __slots__ = ("uri_template", "name", "title", "description", "mime_type", "annotations", "icons", "meta_json")
    URI_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    MIME_TYPE_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    ICONS_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    uri_template: str
    name: str
    title: str
    description: str
    mime_type: str
    annotations: _common_pb2.Annotations
    icons: _containers.RepeatedCompositeFieldContainer[_common_pb2.Icon]
    meta_json: str
    def __init__(self, uri_template: _Optional[str] = ..., name: _Optional[str] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., mime_type: _Optional[str] = ..., annotations: _Optional[_Union[_common_pb2.Annotations, _Mapping]] = ..., icons: _Optional[_Iterable[_Union[_common_pb2.Icon, _Mapping]]] = ..., meta_json: _Optional[str] = ...) -> None: ...

class ListResourcesRequest(_message.Message):
    __slots__ = ("principal", "page_token", "page_size")
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    principal: _common_pb2.Principal
    page_token: str
    page_size: int
    def __init__(self, principal: _Optional[_Union[_common_pb2.Principal, _Mapping]] = ..., page_token: _Optional[str] = ..., page_size: _Optional[int] = ...) -> None: ...

class ListResourcesResponse(_message.Message):
    __slots__ = ("resources", "next_page_token", "cache")
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CACHE_FIELD_NUMBER: _ClassVar[int]
    resources: _containers.RepeatedCompositeFieldContainer[_content_pb2.Resource]
    next_page_token: str
    cache: _common_pb2.CacheHint
    def __init__(self, resources: _Optional[_Iterable[_Union[_content_pb2.Resource, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., cache: _Optional[_Union[_common_pb2.CacheHint, _Mapping]] = ...) -> None: ...

class ListResourceTemplatesRequest(_message.Message):
    __slots__ = ("principal", "page_token", "page_size")
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    principal: _common_pb2.Principal
    page_token: str
    page_size: int
    def __init__(self, principal: _Optional[_Union[_common_pb2.Principal, _Mapping]] = ..., page_token: _Optional[str] = ..., page_size: _Optional[int] = ...) -> None: ...

class ListResourceTemplatesResponse(_message.Message):
    __slots__ = ("resource_templates", "next_page_token", "cache")
    RESOURCE_TEMPLATES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CACHE_FIELD_NUMBER: _ClassVar[int]
    resource_templates: _containers.RepeatedCompositeFieldContainer[ResourceTemplate]
    next_page_token: str
    cache: _common_pb2.CacheHint
    def __init__(self, resource_templates: _Optional[_Iterable[_Union[ResourceTemplate, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., cache: _Optional[_Union[_common_pb2.CacheHint, _Mapping]] = ...) -> None: ...

class ReadResourceRequest(_message.Message):
    __slots__ = ("uri", "context", "input_responses", "state")
    URI_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    INPUT_RESPONSES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    uri: str
    context: _common_pb2.RequestContext
    input_responses: _containers.RepeatedCompositeFieldContainer[_input_pb2.InputResponse]
    state: bytes
    def __init__(self, uri: _Optional[str] = ..., context: _Optional[_Union[_common_pb2.RequestContext, _Mapping]] = ..., input_responses: _Optional[_Iterable[_Union[_input_pb2.InputResponse, _Mapping]]] = ..., state: _Optional[bytes] = ...) -> None: ...

class ReadResourceResponse(_message.Message):
    __slots__ = ("progress", "log", "result", "input_required", "failure")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    INPUT_REQUIRED_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    progress: _common_pb2.Progress
    log: _common_pb2.LogMessage
    result: ReadResourceResult
    input_required: _input_pb2.InputRequired
    failure: _common_pb2.Failure
    def __init__(self, progress: _Optional[_Union[_common_pb2.Progress, _Mapping]] = ..., log: _Optional[_Union[_common_pb2.LogMessage, _Mapping]] = ..., result: _Optional[_Union[ReadResourceResult, _Mapping]] = ..., input_required: _Optional[_Union[_input_pb2.InputRequired, _Mapping]] = ..., failure: _Optional[_Union[_common_pb2.Failure, _Mapping]] = ...) -> None: ...

class ReadResourceResult(_message.Message):
    __slots__ = ("contents", "cache", "meta_json")
    CONTENTS_FIELD_NUMBER: _ClassVar[int]
    CACHE_FIELD_NUMBER: _ClassVar[int]
    META_JSON_FIELD_NUMBER: _ClassVar[int]
    contents: _containers.RepeatedCompositeFieldContainer[_content_pb2.ResourceContents]
    cache: _common_pb2.CacheHint
    meta_json: str
    def __init__(self, contents: _Optional[_Iterable[_Union[_content_pb2.ResourceContents, _Mapping]]] = ..., cache: _Optional[_Union[_common_pb2.CacheHint, _Mapping]] = ..., meta_json: _Optional[str] = ...) -> None: ...

class CompleteResourceTemplateRequest(_message.Message):
    __slots__ = ("uri_template", "argument_name", "argument_value", "context_arguments", "context")
    class ContextArgumentsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    URI_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_VALUE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    uri_template: str
    argument_name: str
    argument_value: str
    context_arguments: _containers.ScalarMap[str, str]
    context: _common_pb2.RequestContext
    def __init__(self, uri_template: _Optional[str] = ..., argument_name: _Optional[str] = ..., argument_value: _Optional[str] = ..., context_arguments: _Optional[_Mapping[str, str]] = ..., context: _Optional[_Union[_common_pb2.RequestContext, _Mapping]] = ...) -> None: ...

class CompleteResourceTemplateResponse(_message.Message):
    __slots__ = ("values", "total", "has_more")
    VALUES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[str]
    total: int
    has_more: bool
    def __init__(self, values: _Optional[_Iterable[str]] = ..., total: _Optional[int] = ..., has_more: bool = ...) -> None: ...

class WatchResourcesRequest(_message.Message):
    __slots__ = ("principal",)
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    principal: _common_pb2.Principal
    def __init__(self, principal: _Optional[_Union[_common_pb2.Principal, _Mapping]] = ...) -> None: ...

class WatchResourcesResponse(_message.Message):
    __slots__ = ("started", "changed")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    started: _tools_pb2.WatchStarted
    changed: _tools_pb2.ListChanged
    def __init__(self, started: _Optional[_Union[_tools_pb2.WatchStarted, _Mapping]] = ..., changed: _Optional[_Union[_tools_pb2.ListChanged, _Mapping]] = ...) -> None: ...

class WatchResourceRequest(_message.Message):
    __slots__ = ("uri", "principal")
    URI_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    uri: str
    principal: _common_pb2.Principal
    def __init__(self, uri: _Optional[str] = ..., principal: _Optional[_Union[_common_pb2.Principal, _Mapping]] = ...) -> None: ...

class WatchResourceResponse(_message.Message):
    __slots__ = ("started", "updated")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    UPDATED_FIELD_NUMBER: _ClassVar[int]
    started: _tools_pb2.WatchStarted
    updated: ResourceUpdated
    def __init__(self, started: _Optional[_Union[_tools_pb2.WatchStarted, _Mapping]] = ..., updated: _Optional[_Union[ResourceUpdated, _Mapping]] = ...) -> None: ...

class ResourceUpdated(_message.Message):
    __slots__ = ("uri",)
    URI_FIELD_NUMBER: _ClassVar[int]
    uri: str
    def __init__(self, uri: _Optional[str] = ...) -> None: ...

class Skill(_message.Message):
    __slots__ = ("uri", "frontmatter_json", "files", "dynamic")
    URI_FIELD_NUMBER: _ClassVar[int]
    FRONTMATTER_JSON_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    DYNAMIC_FIELD_NUMBER: _ClassVar[int]
    uri: str
    frontmatter_json: str
    files: _containers.RepeatedCompositeFieldContainer[SkillFile]
    dynamic: bool
    def __init__(self, uri: _Optional[str] = ..., frontmatter_json: _Optional[str] = ..., files: _Optional[_Iterable[_Union[SkillFile, _Mapping]]] = ..., dynamic: bool = ...) -> None: ...

class SkillFile(_message.Message):
    __slots__ = ("uri", "sha256", "size")
    URI_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    uri: str
    sha256: bytes
    size: int
    def __init__(self, uri: _Optional[str] = ..., sha256: _Optional[bytes] = ..., size: _Optional[int] = ...) -> None: ...

class ListSkillsRequest(_message.Message):
    __slots__ = ("principal", "page_token", "page_size")
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    principal: _common_pb2.Principal
    page_token: str
    page_size: int
    def __init__(self, principal: _Optional[_Union[_common_pb2.Principal, _Mapping]] = ..., page_token: _Optional[str] = ..., page_size: _Optional[int] = ...) -> None: ...

class ListSkillsResponse(_message.Message):
    __slots__ = ("skills", "next_page_token", "cache")
    SKILLS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CACHE_FIELD_NUMBER: _ClassVar[int]
    skills: _containers.RepeatedCompositeFieldContainer[Skill]
    next_page_token: str
    cache: _common_pb2.CacheHint
    def __init__(self, skills: _Optional[_Iterable[_Union[Skill, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., cache: _Optional[_Union[_common_pb2.CacheHint, _Mapping]] = ...) -> None: ...

class GetSkillRequest(_message.Message):
    __slots__ = ("uri", "context")
    URI_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    uri: str
    context: _common_pb2.RequestContext
    def __init__(self, uri: _Optional[str] = ..., context: _Optional[_Union[_common_pb2.RequestContext, _Mapping]] = ...) -> None: ...

class GetSkillResponse(_message.Message):
    __slots__ = ("skill", "cache")
    SKILL_FIELD_NUMBER: _ClassVar[int]
    CACHE_FIELD_NUMBER: _ClassVar[int]
    skill: Skill
    cache: _common_pb2.CacheHint
    def __init__(self, skill: _Optional[_Union[Skill, _Mapping]] = ..., cache: _Optional[_Union[_common_pb2.CacheHint, _Mapping]] = ...) -> None: ...

class ListResourceDirectoryRequest(_message.Message):
    __slots__ = ("uri", "page_token", "context")
    URI_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    uri: str
    page_token: str
    context: _common_pb2.RequestContext
    def __init__(self, uri: _Optional[str] = ..., page_token: _Optional[str] = ..., context: _Optional[_Union[_common_pb2.RequestContext, _Mapping]] = ...) -> None: ...

class ListResourceDirectoryResponse(_message.Message):
    __slots__ = ("resources", "next_page_token")
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    resources: _containers.RepeatedCompositeFieldContainer[_content_pb2.Resource]
    next_page_token: str
    def __init__(self, resources: _Optional[_Iterable[_Union[_content_pb2.Resource, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
