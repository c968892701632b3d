package io.mcpedge.capability.testing;

import io.mcpedge.capability.RawJson;
import io.mcpedge.v1.*;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** How a call ended, and what came before. One of result, inputRequired and failure is set; the others are null. */
public final class Outcome {
  Object result;
  InputRequired inputRequired;
  Failure failure;
  int rounds;
  final List<Progress> progress = new ArrayList<>();
  final List<LogMessage> logs = new ArrayList<>();
  final List<InputRequest> asked = new ArrayList<>();
  final List<byte[]> checkpoints = new ArrayList<>();
  final List<String> events = new ArrayList<>();

  Outcome() {}

  private <R> R result(Class<R> type) {
    if (!type.isInstance(result)) {
      throw new AssertionError("the call has no " + type.getSimpleName() + ": " + this);
    }
    return type.cast(result);
  }

  /** The result of a tool. AssertionError when the call ended otherwise; so do the other results. */
  public CallToolResult toolResult() {
    return result(CallToolResult.class);
  }

  /** The result of a read. */
  public ReadResourceResult readResult() {
    return result(ReadResourceResult.class);
  }

  /** The result of a prompt. */
  public GetPromptResult promptResult() {
    return result(GetPromptResult.class);
  }

  /** The texts of a tool's content, one line for each. */
  public String text() {
    return toolResult().getContentList().stream().filter(c -> c.hasText()).map(c -> c.getText().getText()).collect(Collectors.joining("\n"));
  }

  /** The structured content of a tool's result. */
  public RawJson structured() {
    return new RawJson(toolResult().getStructuredContentJson());
  }

  /** How the call ended. */
  @Override
  public String toString() {
    return result != null ? "result " + result : failure != null ? "failure " + failure : "questions " + inputRequired;
  }

  /** Null: the call did not end in questions. */
  public InputRequired inputRequired() {
    return inputRequired;
  }

  /** Null: the call did not fail. */
  public Failure failure() {
    return failure;
  }

  /** How often the handler ran. */
  public int rounds() {
    return rounds;
  }

  public List<Progress> progress() {
    return progress;
  }

  public List<LogMessage> logs() {
    return logs;
  }

  /** All questions, in order. */
  public List<InputRequest> asked() {
    return asked;
  }

  public List<byte[]> checkpoints() {
    return checkpoints;
  }

  /** The kinds of all events, in order: progress, log, defer and checkpoint. */
  public List<String> events() {
    return events;
  }
}
