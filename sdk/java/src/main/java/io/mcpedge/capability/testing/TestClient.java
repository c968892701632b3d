package io.mcpedge.capability.testing;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.mcpedge.capability.Capability;
import io.mcpedge.capability.Question;
import io.mcpedge.v1.*;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.*;
import java.util.stream.Collectors;

/** A client of a Capability, in process. */
public final class TestClient implements AutoCloseable {
  /** Ends a call whose questions never end. */
  private static final int MAX_ROUNDS = 32;

  private final Server server;
  private final ManagedChannel channel;
  private final Map<String, Answer> answers = new HashMap<>();
  private RequestContext context = defaultContext();

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
  }

  /** A client that wants progress and all logs, takes checkpoints, and can be asked everything. */
  public static RequestContext defaultContext() {
    return RequestContext.newBuilder().setCallId("test").setAttempt(1).setProgressWanted(true).setLogLevel(LogLevel.LOG_LEVEL_DEBUG).setCheckpoints(true)
        .setClientCapabilities(ClientCapabilities.newBuilder()
            .setElicitation(ElicitationCapability.newBuilder().setForm(true).setUrl(true))
            .setSampling(SamplingCapability.newBuilder().setContext(true).setTools(true))
            .setRoots(RootsCapability.getDefaultInstance()))
        .build();
  }

  /**
   * Answers the question of a key from now on; one without an answer ends its call in the questions. A call whose question the answer
   * does not fit is an AssertionError that says why: a user would be asked again.
   */
  public TestClient answer(String key, Answer answer) {
    answers.put(key, answer);
    return this;
  }

  /** Sent with every call, its round counted. */
  public TestClient context(RequestContext context) {
    this.context = context;
    return this;
  }

  /** For the contract's own stubs. */
  public ManagedChannel channel() {
    return channel;
  }

  /** Calls a tool through all its rounds, with any value that encodes as a JSON object. A StatusRuntimeException is a status that ended it. */
  public Outcome callTool(String name, Object arguments) {
    String text = new ObjectMapper().valueToTree(arguments).toString();
    return rounds((c, given, state) -> ToolServiceGrpc.newBlockingStub(channel).callTool(CallToolRequest.newBuilder()
        .setName(name).setArgumentsJson(text).setContext(c).addAllInputResponses(given).setState(state).build()));
  }

  /** As above, without arguments. */
  public Outcome callTool(String name) {
    return callTool(name, Map.of());
  }

  /** As callTool, a read. */
  public Outcome readResource(String uri) {
    return rounds((c, given, state) -> ResourceServiceGrpc.newBlockingStub(channel).readResource(ReadResourceRequest.newBuilder()
        .setUri(uri).setContext(c).addAllInputResponses(given).setState(state).build()));
  }

  /** As callTool, a prompt. */
  public Outcome getPrompt(String name, Map<String, String> arguments) {
    return rounds((c, given, state) -> PromptServiceGrpc.newBlockingStub(channel).getPrompt(GetPromptRequest.newBuilder()
        .setName(name).putAllArguments(arguments).setContext(c).addAllInputResponses(given).setState(state).build()));
  }

  private interface Round {
    Iterator<? extends Message> run(RequestContext context, List<InputResponse> given, ByteString state);
  }

  /** Runs one call to its end; it hands on only the latest answers, as the edge does. */
  private Outcome rounds(Round round) {
    Outcome out = new Outcome();
    List<InputResponse> given = List.of();
    ByteString state = ByteString.EMPTY;
    while (out.rounds < MAX_ROUNDS) {
      out.rounds++;
      drain(round.run(context.toBuilder().setRound(out.rounds).build(), given, state), out);
      if (out.inputRequired == null) {
        return out;
      }
      out.asked.addAll(out.inputRequired.getRequestsList());
      given = new ArrayList<>();
      for (InputRequest question : out.inputRequired.getRequestsList()) {
        InputResponse answer = answers.getOrDefault(question.getKey(), q -> null).to(question);
        if (answer != null) {
          given.add(fitting(question, answer.toBuilder().setKey(question.getKey()).build()));
        }
      }
      if (given.isEmpty() && out.inputRequired.getRequestsCount() > 0) {
        return out;
      }
      state = out.inputRequired.getState();
    }
    String keys = out.inputRequired.getRequestsList().stream().map(q -> '"' + q.getKey() + '"').collect(Collectors.joining(", "));
    throw new AssertionError("the call still asks for " + keys + " after " + MAX_ROUNDS + " rounds; the log says which answer did not fit, and why");
  }

  private static InputResponse fitting(InputRequest question, InputResponse answer) {
    String wrong = Question.misfit(question, answer);
    if (wrong != null) {
      throw new AssertionError("the answer to \"" + question.getKey() + "\" does not fit: " + wrong);
    }
    return answer;
  }

  /** Reads one round: events, then one outcome, then the end. AssertionError when the contract is broken. */
  private static void drain(Iterator<? extends Message> stream, Outcome out) {
    out.inputRequired = null;
    boolean ended = false;
    while (stream.hasNext()) {
      Message message = stream.next();
      if (ended) {
        throw new AssertionError("a message came after the outcome");
      }
      var field = message.getOneofFieldDescriptor(message.getDescriptorForType().getOneofs().get(0));
      if (field == null) {
        throw new AssertionError("a message without content came");
      }
      ended = take(field.getName(), message.getField(field), out);
    }
    if (!ended) {
      throw new AssertionError("the stream ended without an outcome");
    }
  }

  /** Whether it is an outcome. */
  private static boolean take(String kind, Object value, Outcome out) {
    switch (kind) {
      case "result" -> out.result = value;
      case "input_required" -> out.inputRequired = (InputRequired) value;
      case "failure" -> out.failure = (Failure) value;
      default -> {
        out.events.add(kind);
        if (value instanceof Progress progress) {
          out.progress.add(progress);
        } else if (value instanceof LogMessage log) {
          out.logs.add(log);
        } else if (value instanceof Checkpoint checkpoint) {
          out.checkpoints.add(checkpoint.getState().toByteArray());
        }
        return false;
      }
    }
    return true;
  }

  @Override
  public void close() {
    channel.shutdownNow();
    server.shutdownNow();
  }
}
