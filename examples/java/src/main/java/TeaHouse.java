import com.google.gson.JsonParser;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.mcpedge.v1.*;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.instrumentation.grpc.v1_6.GrpcTelemetry;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import java.net.InetSocketAddress;
import java.util.*;
import java.util.concurrent.locks.LockSupport;

/** A tea house: a tool that asks its user and tells how it goes, a resource template and a prompt. */
public final class TeaHouse {
  static final TreeMap<String, String> TEAS = new TreeMap<>(
      Map.of("assam", "strong and malty", "oolong", "between green and black", "sencha", "fresh and grassy"));
  static final String BASE = "tea://java/";
  static final String ARGUMENTS = """
      {"type": "object", "properties": {"tea": {"enum": ["assam", "oolong", "sencha"]}}, "required": ["tea"]}""";
  static final String FORM = """
      {"type": "object", "properties": {"cups": {"type": "integer", "minimum": 1}}, "required": ["cups"]}""";
  static final Tool BREW = Tool.newBuilder().setName("brew").setInputSchemaJson(ARGUMENTS).build();
  static final String LONG = """
      {"type": "object", "properties": {"minutes": {"type": "integer", "minimum": 1}}, "required": ["minutes"]}""";
  // A call that may become a task, and may be run again from its beginning when an edge is lost. That is all there is.
  static final Tool STEEP = Tool.newBuilder().setName("steep").setInputSchemaJson(LONG)
      .setAnnotations(ToolAnnotations.newBuilder().setIdempotent(true))
      .setTaskSupport(TaskSupport.newBuilder().setMode(TaskMode.TASK_MODE_OPTIONAL)).build();
  static final TreeMap<String, Tool> TOOLS = new TreeMap<>(Map.of(BREW.getName(), BREW, STEEP.getName(), STEEP));
  static final Prompt RECOMMEND = Prompt.newBuilder().setName("recommend")
      .addArguments(PromptArgument.newBuilder().setName("mood").setRequired(true)).build();

  static <T> void end(StreamObserver<T> stream, T last) {
    stream.onNext(last);
    stream.onCompleted();
  }

  static void missing(StreamObserver<?> stream, String what) {
    stream.onError(Status.NOT_FOUND.withDescription("there is no " + what).asException());
  }

  static class Backend extends BackendServiceGrpc.BackendServiceImplBase {
    @Override public void describe(DescribeRequest request, StreamObserver<DescribeResponse> to) {
      end(to, DescribeResponse.newBuilder()
          .setImplementation(Implementation.newBuilder().setName("teahouse-java").setVersion("1.0.0"))
          .setTools(ToolFeatures.newBuilder().setListChanged(true)).setPrompts(PromptFeatures.newBuilder())
          .setResources(ResourceFeatures.newBuilder().setCompletion(true)).build());
    }
  }

  static class Tools extends ToolServiceGrpc.ToolServiceImplBase {
    @Override public void listTools(ListToolsRequest request, StreamObserver<ListToolsResponse> to) {
      // The page token is the last name of the page before.
      var rest = List.copyOf(TOOLS.tailMap(request.getPageToken(), false).values());
      int size = request.getPageSize() > 0 ? Math.min(request.getPageSize(), rest.size()) : rest.size();
      end(to, ListToolsResponse.newBuilder().addAllTools(rest.subList(0, size))
          .setNextPageToken(size < rest.size() ? rest.get(size - 1).getName() : "").build());
    }

    @Override public void callTool(CallToolRequest request, StreamObserver<CallToolResponse> to) {
      if (request.getName().equals(STEEP.getName())) { steep(request, to); return; }
      if (!request.getName().equals(BREW.getName())) { missing(to, "tool " + request.getName()); return; }
      var result = JsonParser.parseString(request.getArgumentsJson()).getAsJsonObject();
      if (request.getInputResponsesCount() == 0) { // the first round: ask, and be called again with the answer
        var message = "How many cups of " + result.get("tea").getAsString() + "?";
        var form = ElicitForm.newBuilder().setMessage(message).setRequestedSchemaJson(FORM).build();
        var ask = InputRequest.newBuilder().setKey("cups").setElicitForm(form).build();
        end(to, CallToolResponse.newBuilder().setInputRequired(InputRequired.newBuilder().addRequests(ask)).build());
        return;
      }
      String answer = request.getInputResponses(0).getElicit().getContentJson(); // empty unless accepted
      int cups = answer.isEmpty() ? 0 : JsonParser.parseString(answer).getAsJsonObject().get("cups").getAsInt();
      for (int cup = 1; cup <= cups; cup++) {
        var step = Progress.newBuilder().setProgress(cup).setTotal(cups).setMessage("cup " + cup);
        to.onNext(CallToolResponse.newBuilder().setProgress(step).build());
      }
      result.addProperty("cups", cups);
      result.addProperty("trace", Span.current().getSpanContext().getTraceId());
      var brewed = CallToolResult.newBuilder().setStructuredContentJson(result.toString());
      end(to, CallToolResponse.newBuilder().setResult(brewed).build());
    }

    private void steep(CallToolRequest request, StreamObserver<CallToolResponse> to) {
      var result = JsonParser.parseString(request.getArgumentsJson()).getAsJsonObject();
      int minutes = result.get("minutes").getAsInt();
      for (int minute = 1; minute <= minutes; minute++) {
        var step = Progress.newBuilder().setProgress(minute).setTotal(minutes).setMessage("minute " + minute + " of " + minutes);
        to.onNext(CallToolResponse.newBuilder().setProgress(step).build());
        LockSupport.parkNanos(250_000_000);
        if (Context.current().isCancelled()) { // when a task is cancelled, its call is, as any other
          System.out.println("steeping was cancelled");
          return;
        }
      }
      var steeped = CallToolResult.newBuilder().setStructuredContentJson(result.toString());
      end(to, CallToolResponse.newBuilder().setResult(steeped).build());
    }

    @Override public void watchTools(WatchToolsRequest request, StreamObserver<WatchToolsResponse> to) {
      // The tools never change: the feed starts, and stays open.
      to.onNext(WatchToolsResponse.newBuilder().setStarted(WatchStarted.getDefaultInstance()).build());
    }
  }

  static class Resources extends ResourceServiceGrpc.ResourceServiceImplBase {
    @Override public void listResources(ListResourcesRequest request, StreamObserver<ListResourcesResponse> to) {
      // The page token is the last name of the page before.
      var rest = List.copyOf(TEAS.tailMap(request.getPageToken(), false).keySet());
      int size = request.getPageSize() > 0 ? Math.min(request.getPageSize(), rest.size()) : rest.size();
      var page = ListResourcesResponse.newBuilder().setNextPageToken(size < rest.size() ? rest.get(size - 1) : "");
      for (String tea : rest.subList(0, size)) page.addResources(Resource.newBuilder().setUri(BASE + tea).setName(tea));
      end(to, page.build());
    }

    @Override public void listResourceTemplates(
        ListResourceTemplatesRequest request, StreamObserver<ListResourceTemplatesResponse> to) {
      var tea = ResourceTemplate.newBuilder().setUriTemplate(BASE + "{name}").setName("tea");
      end(to, ListResourceTemplatesResponse.newBuilder().addResourceTemplates(tea).build());
    }

    @Override public void readResource(ReadResourceRequest request, StreamObserver<ReadResourceResponse> to) {
      for (String tea : TEAS.keySet()) {
        if (!request.getUri().equals(BASE + tea)) continue;
        var text = ResourceContents.newBuilder().setUri(BASE + tea).setText(tea + " is " + TEAS.get(tea));
        end(to, ReadResourceResponse.newBuilder().setResult(ReadResourceResult.newBuilder().addContents(text)).build());
        return;
      }
      missing(to, "resource " + request.getUri());
    }

    @Override public void completeResourceTemplate(
        CompleteResourceTemplateRequest request, StreamObserver<CompleteResourceTemplateResponse> to) {
      var values = TEAS.keySet().stream().filter(t -> t.startsWith(request.getArgumentValue())).toList();
      end(to, CompleteResourceTemplateResponse.newBuilder().addAllValues(values).build());
    }
  }

  static class Prompts extends PromptServiceGrpc.PromptServiceImplBase {
    @Override public void listPrompts(ListPromptsRequest request, StreamObserver<ListPromptsResponse> to) {
      end(to, ListPromptsResponse.newBuilder().addPrompts(RECOMMEND).build());
    }

    @Override public void getPrompt(GetPromptRequest request, StreamObserver<GetPromptResponse> to) {
      if (!request.getName().equals(RECOMMEND.getName())) { missing(to, "prompt " + request.getName()); return; }
      String names = String.join(", ", TEAS.keySet()), mood = request.getArgumentsOrDefault("mood", "");
      var text = TextContent.newBuilder().setText("Recommend one of " + names + " to a guest who feels " + mood + ".");
      var content = ContentBlock.newBuilder().setText(text);
      var message = PromptMessage.newBuilder().setRole(Role.ROLE_USER).setContent(content);
      end(to, GetPromptResponse.newBuilder().setResult(GetPromptResult.newBuilder().addMessages(message)).build());
    }
  }

  public static void main(String[] args) throws Exception {
    String[] listen = (args.length == 2 ? args[1] : "127.0.0.1:50051").split(":"); // --listen HOST:PORT
    var telemetry = OpenTelemetrySdk.builder()
        .setTracerProvider(SdkTracerProvider.builder().build()) // add a span processor to export what is traced
        .setPropagators(ContextPropagators.create(W3CTraceContextPropagator.getInstance())).build();
    NettyServerBuilder.forAddress(new InetSocketAddress(listen[0], Integer.parseInt(listen[1])))
        .addService(new Backend()).addService(new Tools()).addService(new Resources()).addService(new Prompts())
        .intercept(GrpcTelemetry.create(telemetry).createServerInterceptor())
        .build().start().awaitTermination();
  }
}
