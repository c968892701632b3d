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

  /** The result of a tool. */
  public CallToolResult toolResult() {
    return (CallToolResult) result;
  }

  /** The result of a read. */
  public ReadResourceResult readResult() {
    return (ReadResourceResult) result;
  }

  /** The result of a prompt. */
  public GetPromptResult promptResult() {
    return (GetPromptResult) result;
  }

  /** The texts of a tool's content, one line for each. */
  public String text() {
    if (result == null) {
      throw new AssertionError("the call has no result: " + (failure == null ? inputRequired : failure));
    }
    return toolResult().getContentList().stream().filter(c -> c.hasText()).map(c -> c.getText().getText()).collect(Collectors.joining("\n"));
  }

  /** The structured content of a tool's result. */
  public RawJson structured() {
    return new RawJson(toolResult().getStructuredContentJson());
  }

  public InputRequired inputRequired() {
    return inputRequired;
  }

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
