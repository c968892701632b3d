"""The contract's services over a Server."""

import asyncio
import functools
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import grpc

from mcpedge.v1 import backend_pb2, backend_pb2_grpc, common_pb2, prompts_pb2, prompts_pb2_grpc, resources_pb2, resources_pb2_grpc, tools_pb2, tools_pb2_grpc

from .answers import Answers
from .call import Call
from .events import Events
from .failure import Failure, Reason, StatusError, not_found, quote, status_of
from .page import page
from .prompts import Completer
from .providing import Provided
from .resources import DirectoryProvider, SkillProvider, read_work
from .rounds import Outcome, Work
from .server import Server
from .tracing import span

Context = Any  # grpc.aio.ServicerContext, which is generic only where its types are read
R = TypeVar("R")
MAX_SUGGESTIONS = 100


def rpc(method: Callable[..., Awaitable[R]]) -> Callable[..., Awaitable[R]]:
    """Has an RPC end with its StatusError, and with INTERNAL for whatever else, which the log has."""

    @functools.wraps(method)
    async def served(self: "_Service", request: Any, context: Context) -> R:
        try:
            return await method(self, request, context)
        except StatusError as e:
            await context.abort(e.code, e.message)
        except (asyncio.CancelledError, grpc.aio.AbortError):
            raise
        except Exception:
            self.server.log.exception("%s failed", method.__name__)
            await context.abort(grpc.StatusCode.INTERNAL, "a fault of the service")
        raise AssertionError("abort never returns")

    return served


async def write(context: Context, message: Any) -> None:
    """Sends a message of a stream. CancelledError when the caller has left meanwhile."""
    try:
        await context.write(message)
    except (grpc.aio.InternalError, grpc.aio.UsageError) as e:
        raise asyncio.CancelledError("the caller has left") from e


class _Service:
    def __init__(self, server: Server) -> None:
        self.server = server

    async def round(
        self, service: str, method: str, request: Any, context: Context, response: Any, find: Callable[[Call], Work], finish: Callable[[Call, Any], Any]
    ) -> None:
        """Runs one round of a tool, a read or a prompt on its stream. find may raise Failure."""
        events = Events(response, functools.partial(write, context))
        with span(service, method, context.invocation_metadata()) as current:
            try:
                answers = Answers(request.input_responses, request.state)
                call = Call(request.context, events, answers, _deadline(context))
                outcome = await self.server.runner.run(find(call), call, answers)
                if outcome.kind == "result":
                    outcome = Outcome("result", finish(call, outcome.value))
            except Failure as e:
                outcome = Outcome("failure", e.proto())
            except BaseException:
                events.abandon()
                raise
            if outcome.kind == "failure":
                current.set_attribute("mcpedge.failure", common_pb2.FailureReason.Name(outcome.value.reason))
            await events.close()
            await write(context, response(**{outcome.kind: outcome.value}))

    async def complete(self, request: Any, context: Context, response: Any, by: Completer | None) -> Any:
        """Runs a completer; an argument without one has no suggestions."""
        if by is None:
            return response()
        with span(*_method(response), context.invocation_metadata()):
            call = Call(request.context, deadline=_deadline(context))
            work = by(request.argument_value, dict(request.context_arguments), call)
            values = _value(await self.server.runner.run(work, call))
        return response(values=values[:MAX_SUGGESTIONS], total=len(values), has_more=len(values) > MAX_SUGGESTIONS)


def _method(response: Any) -> tuple[str, str]:
    name = response.DESCRIPTOR.name.removesuffix("Response")
    return ("mcpedge.v1.PromptService" if name == "CompletePrompt" else "mcpedge.v1.ResourceService", name)


def _deadline(context: Context) -> float:
    remaining = context.time_remaining()
    return math.inf if remaining is None else time.monotonic() + remaining


def _value(outcome: Outcome) -> Any:
    if outcome.kind == "failure":
        raise status_of(outcome.value)
    return outcome.value


class BackendService(_Service, backend_pb2_grpc.BackendServiceServicer):
    @rpc
    async def Describe(self, request: Any, context: Context) -> Any:
        """Says what is there: a kind is announced when it has an entry, or was announced from the beginning."""
        s = self.server
        out = backend_pb2.DescribeResponse(implementation=s.info, instructions=s.instructions, extensions_json=s.extensions)
        if "tools" in s.announce or s.tools.all():
            out.tools.list_changed = True
        if "resources" in s.announce or s.resources.all() or s.templates.all() or s.providers:
            out.resources.list_changed = out.resources.subscribe = True
            out.resources.completion = any(t.completers for t in s.templates.all())
            skills = [p.provider for p in s.providers if isinstance(p.provider, SkillProvider)]
            out.resources.directories = bool(skills) and all(isinstance(p, DirectoryProvider) for p in skills)
            out.resources.uri_prefixes.extend(p.prefix for p in s.providers)
        if "prompts" in s.announce or s.prompts.all():
            out.prompts.list_changed = True
            out.prompts.completion = any(p.completers for p in s.prompts.all())
        return out


class ToolService(_Service, tools_pb2_grpc.ToolServiceServicer):
    @rpc
    async def ListTools(self, request: Any, context: Context) -> Any:
        listed = [t.listed for t in self.server.tools.all()]
        tools, rest = page(listed, lambda t: t.name, request.page_token, request.page_size)
        return tools_pb2.ListToolsResponse(tools=tools, next_page_token=rest, cache=self.server.list_cache)

    @rpc
    async def CallTool(self, request: Any, context: Context) -> None:
        def find(call: Call) -> Work:
            tool = self.server.tools.get(request.name)
            if tool is None:
                raise Failure(Reason.NOT_FOUND, f"there is no tool {quote(request.name)}")
            return tool.work(request.arguments_json, call)

        def finish(call: Call, result: Any) -> Any:
            result.meta_json = result.meta_json or call._meta
            return result

        await self.round("mcpedge.v1.ToolService", "CallTool", request, context, tools_pb2.CallToolResponse, find, finish)

    @rpc
    async def CancelCall(self, request: Any, context: Context) -> Any:
        function = self.server.cancels.get(request.name)
        if function is not None:
            try:
                call = Call(request.context, None, Answers([], request.state))
            except Failure as e:
                raise StatusError(grpc.StatusCode.INVALID_ARGUMENT, e.message) from e
            what = f"cancellation of tool {request.name}"
            _value(await self.server.runner.run(Work(what, function, lambda v: v, _internal, (call,)), call))
        return tools_pb2.CancelCallResponse()

    @rpc
    async def WatchTools(self, request: Any, context: Context) -> None:
        await _watch_list(self.server.tool_feed, tools_pb2.WatchToolsResponse, context)


def _internal(error: Exception) -> Any:
    raise Failure(Reason.INTERNAL, str(error) or type(error).__name__)


async def _watch_list(feed: Any, response: Any, context: Context, hold: Callable[[], Awaitable[None]] | None = None) -> None:
    async def started() -> None:
        if hold:
            await hold()
        await write(context, response(started=tools_pb2.WatchStarted()))

    async def changed(_: str) -> None:
        if hold:
            await hold()  # a provider may be what is new
        await write(context, response(changed=tools_pb2.ListChanged()))

    await feed.serve("", started, changed)


class PromptService(_Service, prompts_pb2_grpc.PromptServiceServicer):
    @rpc
    async def ListPrompts(self, request: Any, context: Context) -> Any:
        listed = [p.listed for p in self.server.prompts.all()]
        prompts, rest = page(listed, lambda p: p.name, request.page_token, request.page_size)
        return prompts_pb2.ListPromptsResponse(prompts=prompts, next_page_token=rest, cache=self.server.list_cache)

    @rpc
    async def GetPrompt(self, request: Any, context: Context) -> None:
        def find(call: Call) -> Work:
            prompt = self.server.prompts.get(request.name)
            if prompt is None:
                raise Failure(Reason.NOT_FOUND, f"there is no prompt {quote(request.name)}")
            return prompt.work(dict(request.arguments), call)

        def finish(call: Call, result: Any) -> Any:
            out = prompts_pb2.GetPromptResult()
            out.CopyFrom(result)
            out.meta_json = result.meta_json or call._meta
            return out

        await self.round("mcpedge.v1.PromptService", "GetPrompt", request, context, prompts_pb2.GetPromptResponse, find, finish)

    @rpc
    async def CompletePrompt(self, request: Any, context: Context) -> Any:
        prompt = self.server.prompts.get(request.name)
        if prompt is None:
            raise StatusError(grpc.StatusCode.NOT_FOUND, f"there is no prompt {quote(request.name)}")
        by = prompt.completers.get(request.argument_name)
        return await self.complete(request, context, prompts_pb2.CompletePromptResponse, by)

    @rpc
    async def WatchPrompts(self, request: Any, context: Context) -> None:
        await _watch_list(self.server.prompt_feed, prompts_pb2.WatchPromptsResponse, context)


class ResourceService(_Service, resources_pb2_grpc.ResourceServiceServicer):
    @rpc
    async def ListResources(self, request: Any, context: Context) -> Any:
        s = self.server
        listed = [r.listed for r in s.resources.all()]
        for p in s.providers:
            listed += await p.ask("list", p.provider.list)
        resources, rest = page(listed, lambda r: r.uri, request.page_token, request.page_size)
        return resources_pb2.ListResourcesResponse(resources=resources, next_page_token=rest, cache=s.list_cache)

    @rpc
    async def ListResourceTemplates(self, request: Any, context: Context) -> Any:
        listed = [t.listed for t in self.server.templates.all()]
        templates, rest = page(listed, lambda t: t.uri_template, request.page_token, request.page_size)
        return resources_pb2.ListResourceTemplatesResponse(resource_templates=templates, next_page_token=rest, cache=self.server.list_cache)

    def _reader(self, uri: str) -> Callable[[str, Call], Work] | None:
        """Who reads a URI: a resource, a template, a provider; None: nobody does."""
        s = self.server
        resource = s.resources.get(uri)
        if resource is not None:
            return resource.work
        for template in s.templates.all():
            if template.template.match(uri) is not None:
                return template.work
        provided = s.provider(uri)
        if provided is not None:
            read = provided.provider.read
            return lambda uri, call: read_work(read, uri, "", args=(call, uri))
        return None

    @rpc
    async def ReadResource(self, request: Any, context: Context) -> None:
        def find(call: Call) -> Work:
            work = self._reader(request.uri)
            if work is None:
                raise not_found(request.uri)
            return work(request.uri, call)

        def finish(call: Call, contents: Any) -> Any:
            return resources_pb2.ReadResourceResult(contents=contents, cache=call._cache, meta_json=call._meta)

        await self.round("mcpedge.v1.ResourceService", "ReadResource", request, context, resources_pb2.ReadResourceResponse, find, finish)

    @rpc
    async def CompleteResourceTemplate(self, request: Any, context: Context) -> Any:
        template = self.server.templates.get(request.uri_template)
        if template is None:
            raise StatusError(grpc.StatusCode.NOT_FOUND, f"there is no resource template {quote(request.uri_template)}")
        by = template.completers.get(request.argument_name)
        return await self.complete(request, context, resources_pb2.CompleteResourceTemplateResponse, by)

    @rpc
    async def WatchResources(self, request: Any, context: Context) -> None:
        held: list[Provided] = []
        try:
            await _watch_list(self.server.resource_feed, resources_pb2.WatchResourcesResponse, context, lambda: self._hold(held, lambda _: True))
        finally:
            await _release(held)

    @rpc
    async def WatchResource(self, request: Any, context: Context) -> None:
        uri, parent = request.uri, request.uri.endswith("/")
        if not parent and self._reader(uri) is None:
            raise StatusError(grpc.StatusCode.NOT_FOUND, not_found(uri).message)
        held: list[Provided] = []

        async def started() -> None:
            await self._hold(held, lambda prefix: uri.startswith(prefix) or (parent and prefix.startswith(uri)))
            await write(context, resources_pb2.WatchResourceResponse(started=tools_pb2.WatchStarted()))

        async def updated(changed: str) -> None:
            await write(context, resources_pb2.WatchResourceResponse(updated=resources_pb2.ResourceUpdated(uri=changed)))

        try:
            await self.server.updates.serve(uri, started, updated)
        finally:
            await _release(held)

    async def _hold(self, held: list[Provided], fits: Callable[[str], bool]) -> None:
        """Begins to watch the providers that fit and are not held yet."""
        for p in self.server.providers:
            if p not in held and fits(p.prefix):
                await p.acquire()
                held.append(p)

    def _skills(self, uri: str, kind: type[SkillProvider]) -> tuple[Provided, Any]:
        provided = self.server.provider(uri)
        if provided is None or not isinstance(provided.provider, kind):
            raise StatusError(grpc.StatusCode.NOT_FOUND, not_found(uri).message)
        return provided, provided.provider

    @rpc
    async def ListSkills(self, request: Any, context: Context) -> Any:
        listed: list[Any] = []
        providers = [(p, p.provider) for p in self.server.providers if isinstance(p.provider, SkillProvider)]
        if not providers:
            raise StatusError(grpc.StatusCode.UNIMPLEMENTED, "there are no skills")
        for provided, provider in providers:
            listed += await provided.ask("skills", provider.skills)
        skills, rest = page(listed, lambda s: s.uri, request.page_token, request.page_size)
        return resources_pb2.ListSkillsResponse(skills=skills, next_page_token=rest, cache=self.server.list_cache)

    @rpc
    async def GetSkill(self, request: Any, context: Context) -> Any:
        provided, provider = self._skills(request.uri, SkillProvider)
        call = Call(request.context, deadline=_deadline(context))
        skill = await provided.ask("skill", provider.skill, call, request.uri)
        if skill is None:
            raise StatusError(grpc.StatusCode.NOT_FOUND, not_found(request.uri).message)
        return resources_pb2.GetSkillResponse(skill=skill, cache=call._cache)

    @rpc
    async def ListResourceDirectory(self, request: Any, context: Context) -> Any:
        provided, provider = self._skills(request.uri, DirectoryProvider)
        call = Call(request.context, deadline=_deadline(context))
        children = await provided.ask("directory", provider.directory, call, request.uri)
        if children is None:
            raise StatusError(grpc.StatusCode.NOT_FOUND, not_found(request.uri).message)
        resources, rest = page(children, lambda r: r.uri, request.page_token, 0)
        return resources_pb2.ListResourceDirectoryResponse(resources=resources, next_page_token=rest)


async def _release(held: list[Provided]) -> None:
    for p in held:
        await p.release()


def register(server: Server, on: grpc.aio.Server) -> tuple[str, ...]:
    """Puts the contract's services on a gRPC server of one's own, and returns their names. Call Server.close before that
    stops. Health and reflection are yours to add."""
    backend_pb2_grpc.add_BackendServiceServicer_to_server(BackendService(server), on)
    tools_pb2_grpc.add_ToolServiceServicer_to_server(ToolService(server), on)
    resources_pb2_grpc.add_ResourceServiceServicer_to_server(ResourceService(server), on)
    prompts_pb2_grpc.add_PromptServiceServicer_to_server(PromptService(server), on)
    files = (backend_pb2, tools_pb2, resources_pb2, prompts_pb2)
    return tuple(s.full_name for f in files for s in f.DESCRIPTOR.services_by_name.values())
