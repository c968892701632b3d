from mcpedge.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeResponse(_message.Message):
    __slots__ = ("implementation", "instructions", "extensions_json", "tools", "resources", "prompts")
    class ExtensionsJsonEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    IMPLEMENTATION_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    EXTENSIONS_JSON_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    PROMPTS_FIELD_NUMBER: _ClassVar[int]
    implementation: _common_pb2.Implementation
    instructions: str
    extensions_json: _containers.ScalarMap[str, str]
    tools: ToolFeatures
    resources: ResourceFeatures
    prompts: PromptFeatures
    def __init__(self, implementation: _Optional[_Union[_common_pb2.Implementation, _Mapping]] = ..., instructions: _Optional[str] = ..., extensions_json: _Optional[_Mapping[str, str]] = ..., tools: _Optional[_Union[ToolFeatures, _Mapping]] = ..., resources: _Optional[_Union[ResourceFeatures, _Mapping]] = ..., prompts: _Optional[_Union[PromptFeatures, _Mapping]] = ...) -> None: ...

class ToolFeatures(_message.Message):
    __slots__ = ("list_changed",)
    LIST_CHANGED_FIELD_NUMBER: _ClassVar[int]
    list_changed: bool
    def __init__(self, list_changed: bool = ...) -> None: ...

class ResourceFeatures(_message.Message):
    __slots__ = ("list_changed", "subscribe", "completion", "uri_prefixes", "directories")
    LIST_CHANGED_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBE_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_FIELD_NUMBER: _ClassVar[int]
    URI_PREFIXES_FIELD_NUMBER: _ClassVar[int]
    DIRECTORIES_FIELD_NUMBER: _ClassVar[int]
    list_changed: bool
    subscribe: bool
    completion: bool
    uri_prefixes: _containers.RepeatedScalarFieldContainer[str]
    directories: bool
    def __init__(self, list_changed: bool = ..., subscribe: bool = ..., completion: bool = ..., uri_prefixes: _Optional[_Iterable[str]] = ..., directories: bool = ...) -> None: ...

class PromptFeatures(_message.Message):
    __slots__ = ("list_changed", "completion")
    LIST_CHANGED_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_FIELD_NUMBER: _ClassVar[int]
    list_changed: bool
    completion: bool
    def __init__(self, list_changed: bool = ..., completion: bool = ...) -> None: ...
