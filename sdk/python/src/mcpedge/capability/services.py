"""The services of the contract for a Server."""

from collections.abc import Callable
from typing import Any

import grpc

from mcpedge.v1 import backend_pb2, prompts_pb2, resources_pb2, tools_pb2

from .answers import Answers
from .call import Call
from .failure import StatusError, not_found
from .offer import Offer
from .resources import DirectoryProvider, SkillProvider, read_work
from .rounds import Work, fail_plainly
from .rpc import Rpc, handler
from .server import Server, offer_of
from .wire import to_wire

SERVICES = tuple(s for file in (backend_pb2, tools_pb2, resources_pb2, prompts_pb2) for s in file.DESCRIPTOR.services_by_name.values())


class Services:
    """The RPCs of all services, under their names."""

    def __init__(self, server: Offer) -> None:
        self.server = server

    async def Describe(self, rpc: Rpc) -> Any:
        """Announces each kind that has an entry, or that was announced from the beginning."""
        s = self.server
        out = rpc.response(implementation=to_wire(s.info), instructions=s.instructions, extensions_json=s.extensions)
        if "tools" in s.announce or s.tools.all():
            out.tools.list_changed = True
        if "resources" in s.announce or s.resources.all() or s.templates.all() or s.providers.all():
            out.resources.list_changed = out.resources.subscribe = True
            out.resources.completion = any(t.completers for t in s.templates.all())
            skills = [p.provider for p in s.providers.all() if isinstance(p.provider, SkillProvider)]
            out.resources.directories = bool(skills) and all(isinstance(p, DirectoryProvider) for p in skills)
            out.resources.uri_prefixes.extend(p.prefix for p in s.providers.all())
        if "prompts" in s.announce or s.prompts.all():
            out.prompts.list_changed = True
            out.prompts.completion = any(p.completers for p in s.prompts.all())
        return out

    # Tools.

    async def ListTools(self, rpc: Rpc) -> Any:
        return rpc.listed("name", [t.listed for t in self.server.tools.all()])

    async def CallTool(self, rpc: Rpc) -> None:
        await rpc.round(lambda call: self.server.tools.find(rpc.request.name).work(rpc.request.arguments_json, call))

    async def CancelCall(self, rpc: Rpc) -> Any:
        function = self.server.cancels.get(rpc.request.name)
        if function is not None:
            call = await rpc.call(None, Answers([], rpc.request.state))
            work = Work(f"cancellation of tool {rpc.request.name}", function, lambda v: v, fail_plainly, (call,))
            await self.server.runner.run(work, call)
        return rpc.response()

    async def WatchTools(self, rpc: Rpc) -> None:
        await rpc.watch(self.server.tool_feed)

    # Prompts.

    async def ListPrompts(self, rpc: Rpc) -> Any:
        return rpc.listed("name", [p.listed for p in self.server.prompts.all()])

    async def GetPrompt(self, rpc: Rpc) -> None:
        await rpc.round(lambda call: self.server.prompts.find(rpc.request.name).work(dict(rpc.request.arguments), call))

    async def CompletePrompt(self, rpc: Rpc) -> Any:
        return await rpc.complete(self.server.prompts.find(rpc.request.name).completers)

    async def WatchPrompts(self, rpc: Rpc) -> None:
        await rpc.watch(self.server.prompt_feed)

    # Resources.

    async def ListResources(self, rpc: Rpc) -> Any:
        resources = [r.listed for r in self.server.resources.all()]
        for p in self.server.providers.all():
            resources += map(to_wire, await p.ask("list", p.provider.list))
        return rpc.listed("uri", resources)

    async def ListResourceTemplates(self, rpc: Rpc) -> Any:
        return rpc.listed("uri_template", [t.listed for t in self.server.templates.all()])

    def _reader(self, uri: str) -> Callable[[str, Call], Work]:
        """Returns the function that reads a URI: of a resource, a template or a provider. Raises Failure NOT_FOUND."""
        s = self.server
        found = s.resources.get(uri) or next((t for t in s.templates.all() if t.template and t.template.match(uri) is not None), None)
        if found is not None:
            return found.work
        read = s.provider(uri).provider.read
        return lambda uri, call: read_work(read, uri, "", args=(call, uri))

    async def ReadResource(self, rpc: Rpc) -> None:
        await rpc.round(lambda call: self._reader(rpc.request.uri)(rpc.request.uri, call))

    async def CompleteResourceTemplate(self, rpc: Rpc) -> Any:
        return await rpc.complete(self.server.templates.find(rpc.request.uri_template).completers)

    async def WatchResources(self, rpc: Rpc) -> None:
        await rpc.watch(self.server.resource_feed, lambda _: True)

    async def WatchResource(self, rpc: Rpc) -> None:
        uri, parent = rpc.request.uri, rpc.request.uri.endswith("/")
        if not parent:
            self._reader(uri)

        def fits(prefix: str) -> bool:
            return uri.startswith(prefix) or (parent and prefix.startswith(uri))

        await rpc.watch(self.server.updates, fits, uri=uri, changed=lambda uri: {"updated": resources_pb2.ResourceUpdated(uri=uri)})

    # Skills.

    async def _of_skills(self, what: str, kind: type[SkillProvider], rpc: Rpc) -> tuple[Any, Call]:
        """Calls a method of the skill provider of a URI. Raises Failure NOT_FOUND."""
        provided = self.server.provider(rpc.request.uri)
        if not isinstance(provided.provider, kind):
            raise not_found(rpc.request.uri)
        call = await rpc.call(work=False)
        found = await provided.ask(what, getattr(provided.provider, what), call, rpc.request.uri)
        if found is None:
            raise not_found(rpc.request.uri)
        return found, call

    async def ListSkills(self, rpc: Rpc) -> Any:
        skills: list[Any] = []
        providers = [(p, p.provider) for p in self.server.providers.all() if isinstance(p.provider, SkillProvider)]
        if not providers:
            raise StatusError(grpc.StatusCode.UNIMPLEMENTED, "there are no skills")
        for provided, provider in providers:
            skills += map(to_wire, await provided.ask("skills", provider.skills))
        return rpc.listed("uri", skills)

    async def GetSkill(self, rpc: Rpc) -> Any:
        skill, call = await self._of_skills("skill", SkillProvider, rpc)
        return rpc.response(skill=to_wire(skill), cache=call.cache)

    async def ListResourceDirectory(self, rpc: Rpc) -> Any:
        children, _ = await self._of_skills("directory", DirectoryProvider, rpc)
        return rpc.listed("uri", [to_wire(child) for child in children])


def register(server: Server, on: grpc.aio.Server) -> tuple[str, ...]:
    """Adds the services of the contract to your own gRPC server, and returns their names. Call Server.close before that server stops. It
    adds neither health, reflection nor the lifespan."""
    offer = offer_of(server)
    answers = Services(offer)
    for service in SERVICES:
        handlers = {method.name: handler(offer, method, getattr(answers, method.name)) for method in service.methods}
        on.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, handlers),))
    return tuple(service.full_name for service in SERVICES)
