package io.mcpedge.capability.testing;

import io.mcpedge.capability.Failure;
import io.mcpedge.capability.PromptResult;
import io.mcpedge.capability.RawJson;
import io.mcpedge.capability.ReadResult;
import io.mcpedge.capability.Reason;
import io.mcpedge.capability.Result;
import io.mcpedge.capability.TextContent;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** The end of a call: a result, unanswered questions, or a failure; and the events before it. */
public final class Outcome {
  Object result;
  boolean tool;
  boolean inputRequired;
  boolean repeatable;
  Failure failure;
  int rounds;
  final List<Progress> progress = new ArrayList<>();
  final List<LogEntry> logs = new ArrayList<>();
  final List<Asked> asked = new ArrayList<>();
  final List<byte[]> checkpoints = new ArrayList<>();
  final List<String> events = new ArrayList<>();

  Outcome() {}

  private <R> R result(Class<R> type) {
    if (!type.isInstance(result)) {
      throw new AssertionError("the call has no " + type.getSimpleName() + ": " + this);
    }
    return type.cast(result);
  }

  /** The result of a tool. Throws AssertionError if the call ended otherwise; so do the other results. */
  public Result result() {
    return result(Result.class);
  }

  /** The result of a read. */
  public ReadResult readResult() {
    return result(ReadResult.class);
  }

  /** The result of a prompt. */
  public PromptResult promptResult() {
    return result(PromptResult.class);
  }

  /**
   * Whether a tool failed in a way that the model sees: by a result that is an error, or by a Failure INVALID_ARGUMENT or
   * FAILED_PRECONDITION, of which the edge makes one.
   */
  public boolean isError() {
    return failure != null ? tool && (failure.reason() == Reason.INVALID_ARGUMENT || failure.reason() == Reason.FAILED_PRECONDITION)
        : result instanceof Result of && of.isError();
  }

  /** The texts of a tool's content, one line for each; of a failure that the model sees, its message. */
  public String text() {
    if (failure != null && isError()) {
      return failure.getMessage();
    }
    return result().content().stream().filter(TextContent.class::isInstance).map(c -> c.text()).collect(Collectors.joining("\n"));
  }

  /** The structured content of a tool's result. Throws AssertionError if it has none. */
  public RawJson structured() {
    if (!(result().structuredContent() instanceof RawJson structured)) {
      throw new AssertionError("the result has no structured content: " + this);
    }
    return structured;
  }

  /** The structured content of a tool's result, read as a type. */
  public <T> T structured(Class<T> type) {
    return structured().as(type);
  }

  /** How the call ended. */
  @Override
  public String toString() {
    return result != null ? "result " + result : failure != null ? "failure " + failure.reason() + ": " + failure.getMessage() : "questions " + asked;
  }

  /** Whether the call ended in questions without an answer, the last of {@link #asked}. */
  public boolean isInputRequired() {
    return inputRequired;
  }

  /** Whether those questions may be repeated after the loss of a replica: {@link io.mcpedge.capability.InputRequired#repeatable}. */
  public boolean isRepeatable() {
    return repeatable;
  }

  /** The protocol error that ended the call; null if there is none. */
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

  public List<LogEntry> logs() {
    return logs;
  }

  /** All questions, in order. */
  public List<Asked> asked() {
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
