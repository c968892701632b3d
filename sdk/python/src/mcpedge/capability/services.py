"""The contract's services over a Server."""

import asyncio
import functools
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import grpc

from mcpedge.v1 import backend_pb2, backend_pb2_grpc, common_pb2, prompts_pb2, prompts_pb2_grpc, resources_pb2, resources_pb2_grpc, tools_pb2, tools_pb2_grpc

from .answers import Answers
from .call import Call
from .events import Events
from .failure import Failure, StatusError, not_found, status_of
from .feed import Feed
from .page import page
from .providing import Provided
from .registry import Completer
from .resources import DirectoryProvider, SkillProvider, read_work
from .rounds import Outcome, Work, fail_plainly
from .server import Server
from .tracing import span

Context = Any  # grpc.aio.ServicerContext, which is generic only where its types are read
R = TypeVar("R")
MAX_SUGGESTIONS = 100


def rpc(method: Callable[..., Awaitable[R]]) -> Callable[..., Awaitable[R]]:
    """Has an RPC end with its StatusError, with the status of its Failure, and with INTERNAL for whatever else, which the log has."""

    @functools.wraps(method)
    async def served(self: "_Service", request: Any, context: Context) -> R:
        try:
            return await method(self, request, context)
        except (StatusError, Failure) as e:
            status = status_of(e.proto()) if isinstance(e, Failure) else e
            await context.abort(status.code, status.message)
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

    async def call(self, request: Any, context: Context, events: Events | None = None, answers: Answers | None = None, *, work: bool = True) -> Call:
        """The Call of a request, whose caller is verified where it is work and the server wants that."""
        if work and self.server.identity is not None:
            verified = await self.server.identity.verify(context.invocation_metadata(), request.context.call_id)
            request.context.principal.CopyFrom(verified)
        remaining = context.time_remaining()
        deadline = math.inf if remaining is None else time.monotonic() + remaining
        return Call(request.context, events, answers, deadline)

    async def round(self, request: Any, context: Context, response: Any, find: Callable[[Call], Work]) -> None:
        """Runs one round of a tool, a read or a prompt on its stream. find may raise Failure."""
        events = Events(response, functools.partial(write, context))
        with span(response, context.invocation_metadata()) as current:
            try:
                answers = Answers(request.input_responses, request.state)
                call = await self.call(request, context, events, answers)
                outcome = await self.server.runner.run(find(call), call, answers)
                if outcome.kind == "result":
                    call.describe(outcome.value)
            except Failure as e:
                outcome = Outcome("failure", e.proto())
            except BaseException:
                events.abandon()
                raise
            if outcome.kind == "failure":
                current.set_attribute("mcpedge.failure", common_pb2.FailureReason.Name(outcome.value.reason))
            await events.close()
            await write(context, response(**{outcome.kind: outcome.value}))

    async def complete(self, request: Any, context: Context, response: Any, completers: dict[str, Completer]) -> Any:
        """Runs a completer; an argument without one has no suggestions."""
        by = completers.get(request.argument_name)
        if by is None:
            return response()
        with span(response, context.invocation_metadata()):
            call = await self.call(request, context)
            values = (await self.server.runner.run(by(request.argument_value, dict(request.context_arguments), call), call)).get()
        return response(values=values[:MAX_SUGGESTIONS], total=len(values), has_more=len(values) > MAX_SUGGESTIONS)

    def listed(self, request: Any, response: Any, key: str, entries: Sequence[Any], size: int | None = None, **more: Any) -> Any:
        """The page of a list that a request wants. key is what its entries are known by; they are the response's first field."""
        shown, rest = page(entries, lambda entry: getattr(entry, key), request.page_token, request.page_size if size is None else size)
        return response(**{response.DESCRIPTOR.fields[0].name: shown}, next_page_token=rest, **more)

    async def watch(
        self,
        feed: Feed,
        response: Any,
        context: Context,
        *,
        uri: str = "",
        fits: Callable[[str], bool] = lambda prefix: False,
        changed: Callable[[str], dict[str, Any]] = lambda uri: {"changed": tools_pb2.ListChanged()},
    ) -> None:
        """Tells of changes. The providers whose prefix fits are watched meanwhile."""
        held: list[Provided] = []

        async def tell(event: dict[str, Any]) -> None:
            for p in self.server.providers:  # one may be what is new
                if p not in held and fits(p.prefix):
                    await p.acquire()
                    held.append(p)
            await write(context, response(**event))

        try:
            await feed.serve(uri, lambda: tell({"started": tools_pb2.WatchStarted()}), lambda uri: tell(changed(uri)))
        finally:
            for p in held:
                await p.release()


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
        tools = [t.listed for t in self.server.tools.all()]
        return self.listed(request, tools_pb2.ListToolsResponse, "name", tools, cache=self.server.list_cache)

    @rpc
    async def CallTool(self, request: Any, context: Context) -> None:
        def find(call: Call) -> Work:
            return self.server.tools.find(request.name).work(request.arguments_json, call)

        await self.round(request, context, tools_pb2.CallToolResponse, find)

    @rpc
    async def CancelCall(self, request: Any, context: Context) -> Any:
        function = self.server.cancels.get(request.name)
        if function is not None:
            call = await self.call(request, context, None, Answers([], request.state))
            work = Work(f"cancellation of tool {request.name}", function, lambda v: v, fail_plainly, (call,))
            (await self.server.runner.run(work, call)).get()
        return tools_pb2.CancelCallResponse()

    @rpc
    async def WatchTools(self, request: Any, context: Context) -> None:
        await self.watch(self.server.tool_feed, tools_pb2.WatchToolsResponse, context)


class PromptService(_Service, prompts_pb2_grpc.PromptServiceServicer):
    @rpc
    async def ListPrompts(self, request: Any, context: Context) -> Any:
        prompts = [p.listed for p in self.server.prompts.all()]
        return self.listed(request, prompts_pb2.ListPromptsResponse, "name", prompts, cache=self.server.list_cache)

    @rpc
    async def GetPrompt(self, request: Any, context: Context) -> None:
        def find(call: Call) -> Work:
            return self.server.prompts.find(request.name).work(dict(request.arguments), call)

        await self.round(request, context, prompts_pb2.GetPromptResponse, find)

    @rpc
    async def CompletePrompt(self, request: Any, context: Context) -> Any:
        return await self.complete(request, context, prompts_pb2.CompletePromptResponse, self.server.prompts.find(request.name).completers)

    @rpc
    async def WatchPrompts(self, request: Any, context: Context) -> None:
        await self.watch(self.server.prompt_feed, prompts_pb2.WatchPromptsResponse, context)


class ResourceService(_Service, resources_pb2_grpc.ResourceServiceServicer):
    @rpc
    async def ListResources(self, request: Any, context: Context) -> Any:
        s = self.server
        resources = [r.listed for r in s.resources.all()]
        for p in s.providers:
            resources += await p.ask("list", p.provider.list)
        return self.listed(request, resources_pb2.ListResourcesResponse, "uri", resources, cache=s.list_cache)

    @rpc
    async def ListResourceTemplates(self, request: Any, context: Context) -> Any:
        templates = [t.listed for t in self.server.templates.all()]
        return self.listed(request, resources_pb2.ListResourceTemplatesResponse, "uri_template", templates, cache=self.server.list_cache)

    def _reader(self, uri: str) -> Callable[[str, Call], Work]:
        """Who reads a URI: a resource, a template, a provider. Failure NOT_FOUND."""
        s = self.server
        resource = s.resources.get(uri)
        if resource is not None:
            return resource.work
        for template in s.templates.all():
            if template.template.match(uri) is not None:
                return template.work
        provided = s.provider(uri)
        if provided is None:
            raise not_found(uri)
        read = provided.provider.read
        return lambda uri, call: read_work(read, uri, "", args=(call, uri))

    @rpc
    async def ReadResource(self, request: Any, context: Context) -> None:
        await self.round(request, context, resources_pb2.ReadResourceResponse, lambda call: self._reader(request.uri)(request.uri, call))

    @rpc
    async def CompleteResourceTemplate(self, request: Any, context: Context) -> Any:
        template = self.server.templates.find(request.uri_template)
        return await self.complete(request, context, resources_pb2.CompleteResourceTemplateResponse, template.completers)

    @rpc
    async def WatchResources(self, request: Any, context: Context) -> None:
        await self.watch(self.server.resource_feed, resources_pb2.WatchResourcesResponse, context, fits=lambda _: True)

    @rpc
    async def WatchResource(self, request: Any, context: Context) -> None:
        uri, parent = request.uri, request.uri.endswith("/")
        if not parent:
            self._reader(uri)

        def fits(prefix: str) -> bool:
            return uri.startswith(prefix) or (parent and prefix.startswith(uri))

        def changed(uri: str) -> dict[str, Any]:
            return {"updated": resources_pb2.ResourceUpdated(uri=uri)}

        await self.watch(self.server.updates, resources_pb2.WatchResourceResponse, context, uri=uri, fits=fits, changed=changed)

    async def _of_skills(self, what: str, kind: type[SkillProvider], request: Any, context: Context) -> tuple[Any, Call]:
        """What a method of the provider of a URI gives. Failure NOT_FOUND."""
        provided = self.server.provider(request.uri)
        if provided is None or not isinstance(provided.provider, kind):
            raise not_found(request.uri)
        call = await self.call(request, context, work=False)
        found = await provided.ask(what, getattr(provided.provider, what), call, request.uri)
        if found is None:
            raise not_found(request.uri)
        return found, call

    @rpc
    async def ListSkills(self, request: Any, context: Context) -> Any:
        skills: list[Any] = []
        providers = [(p, p.provider) for p in self.server.providers if isinstance(p.provider, SkillProvider)]
        if not providers:
            raise StatusError(grpc.StatusCode.UNIMPLEMENTED, "there are no skills")
        for provided, provider in providers:
            skills += await provided.ask("skills", provider.skills)
        return self.listed(request, resources_pb2.ListSkillsResponse, "uri", skills, cache=self.server.list_cache)

    @rpc
    async def GetSkill(self, request: Any, context: Context) -> Any:
        skill, call = await self._of_skills("skill", SkillProvider, request, context)
        return resources_pb2.GetSkillResponse(skill=skill, cache=call.cache)

    @rpc
    async def ListResourceDirectory(self, request: Any, context: Context) -> Any:
        children, _ = await self._of_skills("directory", DirectoryProvider, request, context)
        return self.listed(request, resources_pb2.ListResourceDirectoryResponse, "uri", children, size=0)


def register(server: Server, on: grpc.aio.Server) -> tuple[str, ...]:
    """Puts the contract's services on a gRPC server of one's own, and returns their names. Call Server.close before that
    stops. Health and reflection are yours to add."""
    stubs = {BackendService: backend_pb2_grpc, ToolService: tools_pb2_grpc, ResourceService: resources_pb2_grpc, PromptService: prompts_pb2_grpc}
    for service, module in stubs.items():
        vars(module)[f"add_{service.__name__}Servicer_to_server"](service(server), on)
    files = (backend_pb2, tools_pb2, resources_pb2, prompts_pb2)
    return tuple(s.full_name for f in files for s in f.DESCRIPTOR.services_by_name.values())
