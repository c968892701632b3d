package io.mcpedge.capability;

import io.grpc.Status;
import io.mcpedge.v1.FailureReason;
import java.util.*;

/** Ends a call with a reason instead of a result, if a handler throws it. It may be the cause of another exception. */
public final class Failure extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final Reason reason;
  private final transient Object data;
  private final transient List<String> scopes;

  /** The message says what was wrong, with which value, and what to do. */
  public Failure(Reason reason, String message) {
    this(reason, message, null);
  }

  /** With any value that encodes as JSON for the error's {@code data}; null means none. */
  public Failure(Reason reason, String message, Object data) {
    this(reason, message, data, List.of());
  }

  Failure(Reason reason, String message, Object data, List<String> scopes) {
    super(message);
    this.reason = Objects.requireNonNull(reason, "a Failure has no reason: give one, such as Reason.INTERNAL");
    this.data = data;
    this.scopes = scopes;
  }

  /**
   * A failure for a caller that lacks OAuth scopes: the client is asked to get an access token with them, and can call again.
   * {@link Call#principal} has the current scopes.
   */
  public static Failure lacksScopes(String... scopes) {
    String message = "this needs the scopes " + String.join(" ", scopes) + ": get an access token that has them";
    return new Failure(Reason.PERMISSION_DENIED, message, null, List.of(scopes));
  }

  public Reason reason() {
    return reason;
  }

  /** The error's {@code data}; null if there is none. In the kit for tests it is a {@link RawJson}. */
  public Object data() {
    return data;
  }

  /** The OAuth scopes that the caller lacks; empty for other failures. */
  public List<String> scopes() {
    return scopes;
  }

  /** The message of the contract. */
  io.mcpedge.v1.Failure wire() {
    var out = io.mcpedge.v1.Failure.newBuilder().setReason(reason.wire()).setMessage(Json.valid(getMessage()));
    if (scopes != null) {
      out.addAllScopes(scopes);
    }
    if (data == null) {
      return out.build();
    }
    try {
      return out.setDataJson(Json.encode(data)).build();
    } catch (IllegalArgumentException e) {
      return out.setReason(Reason.INTERNAL.wire()).setMessage(out.getMessage() + " (and the data is not JSON: " + e.getMessage() + ")").build();
    }
  }

  /** Converts a failure to a status, for RPCs that cannot return a failure. */
  static Status status(io.mcpedge.v1.Failure failure) {
    String name = failure.getReason().name().replace("FAILURE_REASON_", "");
    boolean unknown = failure.getReason().equals(FailureReason.FAILURE_REASON_UNSPECIFIED) || failure.getReason().equals(FailureReason.UNRECOGNIZED);
    return (unknown ? Status.INTERNAL : Status.Code.valueOf(name).toStatus()).withDescription(failure.getMessage());
  }

  static Failure notFound(String what, String name) {
    return new Failure(Reason.NOT_FOUND, "there is no " + what + " " + Json.quote(name));
  }
}
