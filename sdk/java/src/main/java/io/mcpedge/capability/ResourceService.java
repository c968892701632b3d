package io.mcpedge.capability;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.mcpedge.v1.*;
import io.mcpedge.v1.Resource;
import io.mcpedge.v1.ResourceTemplate;
import io.mcpedge.v1.Skill;
import java.util.*;
import java.util.function.Predicate;

/** The contract's ResourceService over a Capability. */
final class ResourceService extends ResourceServiceGrpc.ResourceServiceImplBase {
  private final Capability s;
  private final Rounds rounds;

  ResourceService(Capability capability, Rounds rounds) {
    s = capability;
    this.rounds = rounds;
  }

  @Override
  public void listResources(ListResourcesRequest request, StreamObserver<ListResourcesResponse> to) {
    rounds.list("list of resources", to, ListResourcesResponse.getDefaultInstance(), call -> {
      List<Resource> all = new ArrayList<>();
      s.resources.all().forEach(e -> all.add(e.listed()));
      for (Provided p : s.providers) {
        p.provider.list().forEach(r -> all.add(Wire.resource(r)));
      }
      var page = Page.of(all, Resource::getUri, request.getPageToken(), request.getPageSize());
      var out = ListResourcesResponse.newBuilder().addAllResources(page.items()).setNextPageToken(page.next());
      return (s.listCache == null ? out : out.setCache(s.listCache)).build();
    });
  }

  @Override
  public void listResourceTemplates(ListResourceTemplatesRequest request, StreamObserver<ListResourceTemplatesResponse> to) {
    var none = ListResourceTemplatesResponse.getDefaultInstance();
    rounds.list("list of resource templates", to, none, call -> {
      var all = s.templates.all().stream().map(Resources.Template::listed).toList();
      var page = Page.of(all, ResourceTemplate::getUriTemplate, request.getPageToken(), request.getPageSize());
      var out = ListResourceTemplatesResponse.newBuilder().addAllResourceTemplates(page.items()).setNextPageToken(page.next());
      return (s.listCache == null ? out : out.setCache(s.listCache)).build();
    });
  }

  /** The reader of a URI: a resource, a template or a provider; null if there is none. */
  private Resources.Reader reader(String uri) {
    Resources.Entry entry = s.resources.get(uri);
    if (entry != null) {
      return call -> Resources.read(uri, entry.listed().getMimeType(), c -> entry.read().read(c, uri), call);
    }
    for (Resources.Template t : s.templates.all()) {
      Map<String, String> variables = t.parsed().match(uri);
      if (variables != null) {
        return call -> Resources.read(uri, t.listed().getMimeType(), c -> t.read().read(c, uri, variables), call);
      }
    }
    return provided(uri).<Resources.Reader>map(p -> call -> Resources.read(uri, "", c -> p.provider.read(c, uri), call)).orElse(null);
  }

  @Override
  public void readResource(ReadResourceRequest request, StreamObserver<ReadResourceResponse> to) {
    Resources.Reader reader = reader(request.getUri());
    rounds.stream("read of " + request.getUri(), request.getContext(), request.getInputResponsesList(), request.getState(), to,
        ReadResourceResponse.getDefaultInstance(), call -> {
          if (reader == null) {
            throw Failure.notFound("resource", request.getUri());
          }
          ReadResult read = reader.read(call);
          var out = ReadResourceResult.newBuilder().addAllContents(read.contents().stream().map(Wire::contents).toList())
              .setMetaJson(read.meta() == null ? call.metaJson() : Wire.meta(read.meta()));
          return (call.cache() == null ? out : out.setCache(call.cache())).build();
        }, Rounds::failPlainly);
  }

  @Override
  public void completeResourceTemplate(CompleteResourceTemplateRequest request, StreamObserver<CompleteResourceTemplateResponse> to) {
    rounds.unary("completion of template " + request.getUriTemplate(), request.getContext(), ByteString.EMPTY, to,
        CompleteResourceTemplateResponse.getDefaultInstance(), call -> {
          var by = s.templates.find(request.getUriTemplate()).completers().get(request.getArgumentName());
          var found = Complete.run(by, call, request.getArgumentValue(), request.getContextArgumentsMap());
          return CompleteResourceTemplateResponse.newBuilder().addAllValues(found.values()).setTotal(found.total()).setHasMore(found.more()).build();
        });
  }

  @Override
  public void watchResources(WatchResourcesRequest request, StreamObserver<WatchResourcesResponse> to) {
    s.resourceFeed.serve("", to, WatchResourcesResponse.newBuilder().setStarted(WatchStarted.getDefaultInstance()).build(),
        uri -> WatchResourcesResponse.newBuilder().setChanged(ListChanged.getDefaultInstance()).build(), new Watching(prefix -> true));
  }

  @Override
  public void watchResource(WatchResourceRequest request, StreamObserver<WatchResourceResponse> to) {
    String uri = request.getUri();
    boolean parent = uri.endsWith("/");
    if (!parent && reader(uri) == null) {
      to.onError(Status.NOT_FOUND.withDescription("there is no resource " + Json.quote(uri)).asRuntimeException());
      return;
    }
    s.updates.serve(uri, to, WatchResourceResponse.newBuilder().setStarted(WatchStarted.getDefaultInstance()).build(),
        changed -> WatchResourceResponse.newBuilder().setUpdated(ResourceUpdated.newBuilder().setUri(changed)).build(),
        new Watching(prefix -> uri.startsWith(prefix) || (parent && prefix.startsWith(uri))));
  }

  @Override
  public void listSkills(ListSkillsRequest request, StreamObserver<ListSkillsResponse> to) {
    rounds.list("list of skills", to, ListSkillsResponse.getDefaultInstance(), call -> {
      var providers = s.providers.stream().filter(p -> p.provider instanceof SkillProvider).toList();
      if (providers.isEmpty()) {
        throw Status.UNIMPLEMENTED.withDescription("there are no skills").asRuntimeException();
      }
      List<Skill> all = new ArrayList<>();
      for (Provided p : providers) {
        ((SkillProvider) p.provider).skills().forEach(skill -> all.add(Wire.skill(skill)));
      }
      var page = Page.of(all, Skill::getUri, request.getPageToken(), request.getPageSize());
      var out = ListSkillsResponse.newBuilder().addAllSkills(page.items()).setNextPageToken(page.next());
      return (s.listCache == null ? out : out.setCache(s.listCache)).build();
    });
  }

  @Override
  public void getSkill(GetSkillRequest request, StreamObserver<GetSkillResponse> to) {
    rounds.list("skill " + request.getUri(), request.getContext(), to, GetSkillResponse.getDefaultInstance(), call -> {
      var skill = found(request.getUri(), SkillProvider.class, provider -> provider.skill(call, request.getUri()));
      var out = GetSkillResponse.newBuilder().setSkill(Wire.skill(skill));
      return (call.cache() == null ? out : out.setCache(call.cache())).build();
    });
  }

  @Override
  public void listResourceDirectory(ListResourceDirectoryRequest request, StreamObserver<ListResourceDirectoryResponse> to) {
    rounds.list("directory " + request.getUri(), request.getContext(), to, ListResourceDirectoryResponse.getDefaultInstance(), call -> {
      var children = found(request.getUri(), DirectoryProvider.class, provider -> provider.directory(call, request.getUri()));
      var page = Page.of(children.stream().map(Wire::resource).toList(), Resource::getUri, request.getPageToken(), 0);
      return ListResourceDirectoryResponse.newBuilder().addAllResources(page.items()).setNextPageToken(page.next()).build();
    });
  }

  /** Calls a method of a provider. */
  private interface Ask<P, R> {
    R of(P provider) throws Exception;
  }

  /** Returns the result of the provider of a URI. Throws Failure NOT_FOUND if the provider is of another kind, or returns null. */
  private <P, R> R found(String uri, Class<P> kind, Ask<P, R> ask) throws Exception {
    var provided = provided(uri).filter(p -> kind.isInstance(p.provider)).orElseThrow(() -> Failure.notFound("resource", uri));
    R found;
    try {
      found = ask.of(kind.cast(provided.provider));
    } catch (java.nio.file.NoSuchFileException e) {
      found = null;
    }
    if (found == null) {
      throw Failure.notFound("resource", uri);
    }
    return found;
  }

  private Optional<Provided> provided(String uri) {
    return s.providers.stream().filter(p -> uri.startsWith(p.prefix)).max(Comparator.comparingInt(p -> p.prefix.length()));
  }

  /** The providers with a matching prefix, which are watched for one watcher. */
  private final class Watching implements Feed.Holding {
    private final Predicate<String> fits;
    private final Set<Provided> held = new LinkedHashSet<>();

    Watching(Predicate<String> fits) {
      this.fits = fits;
    }

    @Override
    public void take() throws Exception {
      for (Provided p : s.providers) {
        if (!held.contains(p) && fits.test(p.prefix)) {
          p.acquire();
          held.add(p);
        }
      }
    }

    @Override
    public void release() {
      held.forEach(Provided::release);
      held.clear();
    }
  }
}
