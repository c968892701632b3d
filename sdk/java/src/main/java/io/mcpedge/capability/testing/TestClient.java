package io.mcpedge.capability.testing;

import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.mcpedge.capability.Capability;
import io.mcpedge.capability.ClientCapabilities;
import io.mcpedge.capability.Implementation;
import io.mcpedge.capability.Level;
import io.mcpedge.capability.Principal;
import io.mcpedge.capability.RawJson;
import io.mcpedge.capability.internal.Bridge;
import io.mcpedge.v1.*;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.*;
import java.util.stream.Collectors;

/**
 * A client of a Capability, in process. By default it is anonymous, wants progress and all logs, takes checkpoints, and can be asked
 * everything.
 */
public final class TestClient implements AutoCloseable {
  /** The maximum number of rounds of a call. */
  private static final int MAX_ROUNDS = 32;

  private final Server server;
  private final ManagedChannel channel;
  private final Map<String, Answer> answers = new HashMap<>();
  private final RequestContext.Builder context = RequestContext.newBuilder();

  public TestClient(Capability capability) {
    String name = InProcessServerBuilder.generateName();
    var builder = InProcessServerBuilder.forName(name);
    capability.services().forEach(builder::addService);
    try {
      server = builder.build().start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    channel = InProcessChannelBuilder.forName(name).build();
    context.setCallId("test").setAttempt(1).setProgressWanted(true).setLogLevel(LogLevel.LOG_LEVEL_DEBUG).setCheckpoints(true)
        .setClientCapabilities(Bridge.get().capabilities(new ClientCapabilities(true, true, true, true, true, Map.of())));
  }

  /**
   * Answers the question of a key from now on; a question without an answer ends its call. A call whose question the answer does not
   * fit throws an AssertionError with the reason: a user would be asked again.
   */
  public TestClient answer(String key, Answer answer) {
    answers.put(key, answer);
    return this;
  }

  /** The caller. */
  public TestClient principal(Principal principal) {
    context.setPrincipal(Bridge.get().principal(principal));
    return this;
  }

  /** The name and version of the client. */
  public TestClient clientInfo(Implementation info) {
    context.setClientInfo(Bridge.get().implementation(info));
    return this;
  }

  /** What the client can be asked, by {@link io.mcpedge.capability.Call#clientCapabilities}. */
  public TestClient clientCapabilities(ClientCapabilities capabilities) {
    context.setClientCapabilities(Bridge.get().capabilities(capabilities));
    return this;
  }

  /** {@code _meta} of the requests, a value that encodes as a JSON object. */
  public TestClient meta(Object object) {
    context.setMetaJson(Bridge.get().json(object));
    return this;
  }

  /** Whether the client wants progress. */
  public TestClient wantsProgress(boolean wanted) {
    context.setProgressWanted(wanted);
    return this;
  }

  /** The lowest level of logs that the client wants; null disables logs. */
  public TestClient logLevel(Level level) {
    context.setLogLevel(level == null ? LogLevel.LOG_LEVEL_UNSPECIFIED : Bridge.get().level(level));
    return this;
  }

  /** Whether calls of tools may become tasks by {@link io.mcpedge.capability.Call#defer}. */
  public TestClient tasks(boolean possible) {
    if (possible) {
      context.setTask(TaskContext.getDefaultInstance());
    } else {
      context.clearTask();
    }
    return this;
  }

  /** The gRPC channel, for stubs of the contract. */
  public ManagedChannel channel() {
    return channel;
  }

  /** Calls a tool through all its rounds, with any value that encodes as a JSON object. Throws StatusRuntimeException if a status ended it. */
  public Outcome callTool(String name, Object arguments) {
    String text = Bridge.get().json(arguments);
    Outcome out = rounds((c, given, state) -> ToolServiceGrpc.newBlockingStub(channel).callTool(CallToolRequest.newBuilder()
        .setName(name).setArgumentsJson(text).setContext(c).addAllInputResponses(given).setState(state).build()));
    out.tool = true;
    return out;
  }

  /** Calls a tool without arguments. */
  public Outcome callTool(String name) {
    return callTool(name, Map.of());
  }

  /** Reads a resource through all its rounds. */
  public Outcome readResource(String uri) {
    return rounds((c, given, state) -> ResourceServiceGrpc.newBlockingStub(channel).readResource(ReadResourceRequest.newBuilder()
        .setUri(uri).setContext(c).addAllInputResponses(given).setState(state).build()));
  }

  /** Gets a prompt through all its rounds. */
  public Outcome getPrompt(String name, Map<String, String> arguments) {
    return rounds((c, given, state) -> PromptServiceGrpc.newBlockingStub(channel).getPrompt(GetPromptRequest.newBuilder()
        .setName(name).putAllArguments(arguments).setContext(c).addAllInputResponses(given).setState(state).build()));
  }

  /** The suggestions for an argument of a prompt, or for a variable of a URI template, after some text was typed. */
  public List<String> complete(String promptOrTemplate, String argument, String typed, Map<String, String> chosen) {
    if (promptOrTemplate.contains("://")) {
      return ResourceServiceGrpc.newBlockingStub(channel).completeResourceTemplate(CompleteResourceTemplateRequest.newBuilder()
          .setUriTemplate(promptOrTemplate).setArgumentName(argument).setArgumentValue(typed).putAllContextArguments(chosen).setContext(context).build())
          .getValuesList();
    }
    return PromptServiceGrpc.newBlockingStub(channel).completePrompt(CompletePromptRequest.newBuilder().setName(promptOrTemplate)
        .setArgumentName(argument).setArgumentValue(typed).putAllContextArguments(chosen).setContext(context).build()).getValuesList();
  }

  /** Returns suggestions without other arguments. */
  public List<String> complete(String promptOrTemplate, String argument, String typed) {
    return complete(promptOrTemplate, argument, typed, Map.of());
  }

  /** Cancels a task of a tool between two rounds: {@link Capability#onCancel}. */
  public void cancel(String tool) {
    ToolServiceGrpc.newBlockingStub(channel).cancelCall(CancelCallRequest.newBuilder().setName(tool).setContext(context).build());
  }

  private interface Round {
    Iterator<? extends Message> run(RequestContext context, List<InputResponse> given, ByteString state);
  }

  /** Runs one call to its end; it hands on only the latest answers, as the edge does. */
  private Outcome rounds(Round round) {
    Outcome out = new Outcome();
    List<InputResponse> given = List.of();
    ByteString state = ByteString.EMPTY;
    List<InputRequest> questions = List.of();
    while (out.rounds < MAX_ROUNDS) {
      out.rounds++;
      InputRequired ended = drain(round.run(context.clone().setRound(out.rounds).build(), given, state), out);
      out.inputRequired = ended != null;
      if (ended == null) {
        return out;
      }
      out.repeatable = ended.getRepeatable();
      questions = ended.getRequestsList();
      given = answered(questions, out);
      if (given.isEmpty() && !questions.isEmpty()) {
        return out;
      }
      state = ended.getState();
    }
    String keys = questions.stream().map(q -> '"' + q.getKey() + '"').collect(Collectors.joining(", "));
    throw new AssertionError("the call still asks for " + keys + " after " + MAX_ROUNDS + " rounds; the log has the answer that does not fit, and why");
  }

  private List<InputResponse> answered(List<InputRequest> questions, Outcome out) {
    List<InputResponse> given = new ArrayList<>();
    for (InputRequest question : questions) {
      Asked asked = Asked.of(question);
      out.asked.add(asked);
      Answer answer = answers.get(question.getKey());
      InputResponse response = answer == null ? null : answer.to(asked);
      if (response != null) {
        String wrong = Bridge.get().misfit(question, response);
        if (wrong != null) {
          throw new AssertionError("the answer to \"" + question.getKey() + "\" does not fit: " + wrong);
        }
        given.add(response);
      }
    }
    return given;
  }

  /** Reads one round: events, then one outcome, then the end. Returns the questions; null for others. Throws AssertionError if the contract is broken. */
  private static InputRequired drain(Iterator<? extends Message> stream, Outcome out) {
    Object outcome = null;
    while (stream.hasNext()) {
      Message message = stream.next();
      if (outcome != null) {
        throw new AssertionError("a message came after the outcome");
      }
      var field = message.getOneofFieldDescriptor(message.getDescriptorForType().getOneofs().get(0));
      if (field == null) {
        throw new AssertionError("a message without content came");
      }
      Object value = message.getField(field);
      if (!event(field.getName(), value, out)) {
        outcome = value;
      }
    }
    if (outcome == null) {
      throw new AssertionError("the stream ended without an outcome");
    }
    end(outcome, out);
    return outcome instanceof InputRequired ended ? ended : null;
  }

  /** Returns whether a message is an event, not an outcome. */
  private static boolean event(String kind, Object value, Outcome out) {
    if (value instanceof io.mcpedge.v1.Progress p) {
      out.progress.add(new io.mcpedge.capability.testing.Progress(p.getProgress(), p.getTotal(), p.getMessage()));
    } else if (value instanceof LogMessage log) {
      out.logs.add(new LogEntry(Level.values()[Math.max(0, log.getLevelValue() - 1)], new RawJson(log.getDataJson()), log.getLogger()));
    } else if (value instanceof Checkpoint checkpoint) {
      out.checkpoints.add(checkpoint.getState().toByteArray());
    } else if (!(value instanceof Defer)) {
      return false;
    }
    out.events.add(kind);
    return true;
  }

  private static void end(Object outcome, Outcome out) {
    if (outcome instanceof CallToolResult result) {
      out.result = Bridge.get().result(result);
    } else if (outcome instanceof ReadResourceResult result) {
      out.result = Bridge.get().read(result);
    } else if (outcome instanceof GetPromptResult result) {
      out.result = Bridge.get().prompt(result);
    } else if (outcome instanceof Failure failure) {
      out.failure = Bridge.get().failure(failure);
    }
  }

  @Override
  public void close() {
    channel.shutdownNow();
    server.shutdownNow();
  }
}
