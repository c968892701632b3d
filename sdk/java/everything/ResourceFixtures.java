import io.mcpedge.capability.Call;
import io.mcpedge.capability.Capability;
import io.mcpedge.capability.Complete;
import io.mcpedge.capability.Content;
import io.mcpedge.capability.ElicitResult;
import io.mcpedge.capability.Failure;
import io.mcpedge.capability.Reason;
import io.mcpedge.capability.Resource;
import io.mcpedge.capability.ResourceTemplate;
import io.mcpedge.capability.ResourceWatcher;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Resources of every kind. */
final class ResourceFixtures {
  static final String CONTEXT = """
      {"type":"object","properties":{"context":{"type":"string","description":"What it is about"}},"required":["context"]}""";
  private static final String WATCHED = "test://watched-resource";

  record Context(String context) {}

  private ResourceFixtures() {}

  static void add(Capability s) {
    Resource text = Resource.builder().uri("test://static-text").name("static-text").title("Static text").mimeType("text/plain")
        .description("A text that never changes").build();
    s.resource(text, (call, uri) -> {
      call.setCache(Everything.CACHE, true);
      return "This is the content of the static text resource.";
    });
    Resource binary = Resource.builder().uri("test://static-binary").name("static-binary").title("Static binary")
        .mimeType("image/png").description("A picture that never changes").build();
    s.resource(binary, (call, uri) -> {
      call.setCache(Everything.CACHE, true);
      return ContentFixtures.RED_PIXEL;
    });
    s.provide(WATCHED, new Watched(3));
    ResourceTemplate data = ResourceTemplate.builder().uriTemplate("test://template/{id}/data").name("template").title("Template")
        .mimeType("application/json").description("Data about an id").build();
    s.template(data, (call, variables) -> {
      call.setCache(Everything.CACHE, true);
      String id = variables.get("id");
      return "{\"id\":\"" + id + "\",\"templateTest\":true,\"data\":\"Data for ID: " + id + "\"}";
    }, Complete.suggest("id", "1", "12", "123"));
    ResourceTemplate ask = ResourceTemplate.builder().uriTemplate("test://ask/{topic}").name("ask").title("Asking read")
        .mimeType("text/plain").description("A text that the user is asked for when it is read").build();
    s.template(ask, (call, variables) -> {
      ElicitResult r = call.askForm("user_context", "What should \"" + variables.get("topic") + "\" say?", CONTEXT);
      if (r.action() != ElicitResult.Action.ACCEPT) {
        throw new Failure(Reason.FAILED_PRECONDITION, "the user gave no text (" + r.action() + ")");
      }
      return r.content().as(Context.class).context();
    });
  }

  /** A resource that changes by itself, while there are watchers. */
  private static final class Watched implements ResourceWatcher {
    private final long began = System.nanoTime();
    private final int seconds;

    Watched(int seconds) {
      this.seconds = seconds;
    }

    @Override
    public List<Resource> list() {
      return List.of(Resource.builder().uri(WATCHED).name("watched-resource").title("Watched resource").mimeType("text/plain")
          .description("A text that changes every " + seconds + " s").build());
    }

    @Override
    public Object read(Call call, String uri) {
      long version = (System.nanoTime() - began) / TimeUnit.SECONDS.toNanos(seconds) + 1;
      return uri.equals(WATCHED) ? Content.contents(uri, "text/plain", "Watched resource content, version " + version) : null;
    }

    @Override
    public Runnable watch(Consumer<String> updated, Runnable listChanged) {
      ScheduledExecutorService ticks = Executors.newSingleThreadScheduledExecutor();
      ticks.scheduleAtFixedRate(() -> updated.accept(WATCHED), seconds, seconds, TimeUnit.SECONDS);
      return ticks::shutdownNow;
    }
  }
}
