package io.mcpedge.capability.testing;

import io.mcpedge.capability.RawJson;
import io.mcpedge.capability.Role;
import io.mcpedge.capability.Root;
import io.mcpedge.capability.SamplingResult;
import io.mcpedge.capability.TextContent;
import io.mcpedge.capability.internal.Bridge;
import io.mcpedge.v1.ElicitAction;
import io.mcpedge.v1.ElicitResult;
import io.mcpedge.v1.InputResponse;
import io.mcpedge.v1.ListRootsResult;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

/** The answer of a client to a question. */
public final class Answer {
  private final Function<Asked, InputResponse.Builder> response;

  private Answer(Function<Asked, InputResponse.Builder> response) {
    this.response = response;
  }

  /** The response with the key of its question; null if there is none. */
  InputResponse to(Asked question) {
    InputResponse.Builder made = response.apply(question);
    return made == null ? null : made.setKey(question.key()).build();
  }

  /** An answer that depends on the question; the function returns null for none, which ends the call in its questions. */
  public static Answer of(Function<Asked, Answer> answer) {
    return new Answer(question -> {
      Answer given = answer.apply(question);
      return given == null ? null : given.response.apply(question);
    });
  }

  /**
   * A user who filled in a form: any value that encodes as a JSON object. The form for one value has it under the key of the question:
   * {@code accepted(Map.of("sure", true))} answers {@code call.ask("sure", …, boolean.class)}.
   */
  public static Answer accepted(Object content) {
    return elicited(ElicitResult.newBuilder().setAction(ElicitAction.ELICIT_ACTION_ACCEPT).setContentJson(Bridge.get().json(content)));
  }

  /** A user who agreed to open a URL. */
  public static Answer accepted() {
    return elicited(ElicitResult.newBuilder().setAction(ElicitAction.ELICIT_ACTION_ACCEPT));
  }

  /** A user who declined. */
  public static Answer declined() {
    return elicited(ElicitResult.newBuilder().setAction(ElicitAction.ELICIT_ACTION_DECLINE));
  }

  /** A user who closed the question. */
  public static Answer dismissed() {
    return elicited(ElicitResult.newBuilder().setAction(ElicitAction.ELICIT_ACTION_CANCEL));
  }

  /** The response of the client's model: a text. */
  public static Answer sampled(String text) {
    return sampled(new SamplingResult(Role.ASSISTANT, List.of(new TextContent(text)), "test", "endTurn", null));
  }

  /** The response of the client's model. */
  public static Answer sampled(SamplingResult result) {
    return new Answer(question -> InputResponse.newBuilder().setCreateMessage(Bridge.get().sampled(result)));
  }

  /** A client with roots of these URIs. */
  public static Answer roots(String... uris) {
    return roots(Stream.of(uris).map(Root::new).toArray(Root[]::new));
  }

  /** A client with these roots. */
  public static Answer roots(Root... roots) {
    var result = ListRootsResult.newBuilder().addAllRoots(Stream.of(roots).map(Bridge.get()::root).toList());
    return new Answer(question -> InputResponse.newBuilder().setListRoots(result));
  }

  /** The client's result for a question of another kind. */
  public static Answer raw(RawJson result) {
    return new Answer(question -> InputResponse.newBuilder().setRawJson(result.text()));
  }

  private static Answer elicited(ElicitResult.Builder result) {
    return new Answer(question -> InputResponse.newBuilder().setElicit(result));
  }
}
