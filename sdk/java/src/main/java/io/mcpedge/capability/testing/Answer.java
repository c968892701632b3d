package io.mcpedge.capability.testing;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.mcpedge.capability.Content;
import io.mcpedge.v1.*;
import java.util.List;

/** What a client answers to a question. Null: nothing, which ends the call in its questions. The key is filled in. */
@FunctionalInterface
public interface Answer {
  InputResponse to(InputRequest question);

  /**
   * Of a user who filled in a form: any value that encodes as a JSON object. A question for one value wants it under its own key: {@code
   * accepted(Map.of("sure", true))} of {@code call.ask("sure", …, boolean.class)}.
   */
  static Answer accepted(Object content) {
    String text = new ObjectMapper().valueToTree(content).toString();
    return of(ElicitResult.newBuilder().setAction(ElicitAction.ELICIT_ACTION_ACCEPT).setContentJson(text));
  }

  /** Of a user who agreed to open a URL. */
  static Answer accepted() {
    return of(ElicitResult.newBuilder().setAction(ElicitAction.ELICIT_ACTION_ACCEPT));
  }

  /** Of a user who said no. */
  static Answer declined() {
    return of(ElicitResult.newBuilder().setAction(ElicitAction.ELICIT_ACTION_DECLINE));
  }

  /** Of a user who closed the question. */
  static Answer cancelled() {
    return of(ElicitResult.newBuilder().setAction(ElicitAction.ELICIT_ACTION_CANCEL));
  }

  /** Of a client's model that said some text. */
  static Answer sampled(String text) {
    var turn = Content.samplingText(Role.ROLE_ASSISTANT, text);
    var result = CreateMessageResult.newBuilder().setRole(turn.getRole()).addAllContent(turn.getContentList()).setModel("test").setStopReason("endTurn");
    return question -> InputResponse.newBuilder().setCreateMessage(result).build();
  }

  /** Of a client with these roots. */
  static Answer roots(String... uris) {
    var roots = List.of(uris).stream().map(uri -> Root.newBuilder().setUri(uri).build()).toList();
    return question -> InputResponse.newBuilder().setListRoots(ListRootsResult.newBuilder().addAllRoots(roots)).build();
  }

  private static Answer of(ElicitResult.Builder result) {
    return question -> InputResponse.newBuilder().setElicit(result).build();
  }
}
