package io.mcpedge.capability;

import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import io.grpc.*;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.mcpedge.v1.InputResponse;
import io.mcpedge.v1.RequestContext;
import java.lang.System.Logger;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.*;
import java.util.function.Consumer;
import java.util.function.Function;

/** Runs each handler in its own thread, and converts its result or exception. */
record Rounds(Executor executor, Tracing tracing, Running running, boolean maskErrors, Identities identities) {
  private static final Logger LOG = System.getLogger("io.mcpedge.capability");

  /** Calls a handler, and returns the message of its result. */
  interface Work<R> {
    R run(Call call) throws Exception;
  }

  /** The running calls, each with the function that ends it with a status. */
  static final class Running {
    private final Map<Call, Consumer<Status>> calls = new ConcurrentHashMap<>();

    /** Ends them as UNAVAILABLE, and cancels their handlers. */
    void end() {
      calls.forEach((call, end) -> {
        end.accept(Status.UNAVAILABLE.withDescription("the service stopped before the call had ended; call again"));
        call.cancel();
      });
    }
  }

  /**
   * Runs one round of a tool, a read or a prompt on its stream, and returns at once. plain converts an exception without a
   * reason.
   */
  void stream(String what, RequestContext context, List<InputResponse> responses, ByteString state, StreamObserver<?> observer, Message response,
      Work<? extends Message> work, Function<Exception, Message> plain) {
    @SuppressWarnings("unchecked") // the messages are made by response
    var to = (ServerCallStreamObserver<Message>) observer;
    Events events = new Events(to, response);
    Call call;
    try {
      call = new Call(context, events, new Answers(responses, state));
    } catch (Failure e) {
      to.setOnCancelHandler(() -> {});
      events.end("failure", e.wire());
      return;
    }
    to.setOnCancelHandler(call::cancel);
    running.calls.put(call, events::fail);
    executor.execute(Context.current().wrap(() -> tracing.span(response, span -> {
      try {
        identify(call, identities);
        Message result = invoke(call, work);
        if (call.answers().unwound() || call.answers().mistake() != null) {
          throw new Unwound(); // a handler that caught it changes nothing
        }
        events.end("result", result);
      } catch (Throwable e) {
        end(what, call, events, e, plain, span);
      } finally {
        running.calls.remove(call);
      }
    })));
  }

  /** Runs an RPC of a list, which needs no identity; otherwise as unary. */
  <R> void list(String what, RequestContext context, StreamObserver<R> observer, Message response, Work<R> work) {
    unary(what, context, ByteString.EMPTY, observer, response, work, null);
  }

  /** Runs an RPC of a list without a context. */
  <R> void list(String what, StreamObserver<R> observer, Message response, Work<R> work) {
    list(what, RequestContext.getDefaultInstance(), observer, response, work);
  }

  /** Runs a unary RPC, which has no events; its failures are statuses. */
  <R> void unary(String what, RequestContext context, ByteString state, StreamObserver<R> observer, Message response, Work<R> work) {
    unary(what, context, state, observer, response, work, identities);
  }

  private <R> void unary(String what, RequestContext context, ByteString state, StreamObserver<R> observer, Message response, Work<R> work,
      Identities callers) {
    var to = (ServerCallStreamObserver<R>) observer;
    Call call;
    try {
      call = new Call(context, null, new Answers(List.of(), state));
    } catch (Failure e) {
      to.onError(Failure.status(e.wire()).asRuntimeException());
      return;
    }
    to.setOnCancelHandler(call::cancel);
    executor.execute(Context.current().wrap(() -> tracing.span(response, span -> {
      try {
        identify(call, callers);
        R result = invoke(call, work);
        if (!to.isCancelled()) {
          to.onNext(result);
          to.onCompleted();
        }
      } catch (Throwable e) {
        if (!to.isCancelled()) {
          to.onError(status(what, call, e).asRuntimeException());
        }
      }
    })));
  }

  /** Sets the verified caller. Throws StatusRuntimeException if there is none. */
  private static void identify(Call call, Identities callers) {
    if (callers != null) {
      call.principal(callers.verify(Identities.sent(), call.id()));
    }
  }

  private static <R> R invoke(Call call, Work<R> work) throws Exception {
    call.runIn(Thread.currentThread());
    try {
      return work.run(call);
    } finally {
      call.runIn(null);
    }
  }

  private void end(String what, Call call, Events events, Throwable thrown, Function<Exception, Message> plain, Tracing.Current span) {
    try {
      Throwable e = unwrapped(thrown);
      if (isFault(e)) {
        fail(events, span, broken(what, call, e));
      } else if (call.answers().mistake() != null) {
        fail(events, span, call.answers().mistake().wire());
      } else if (call.answers().unwound()) {
        require(call, events, span, null);
      } else if (e instanceof InputRequired ending) {
        require(call, events, span, ending);
      } else if (find(e, Failure.class) instanceof Failure failure) {
        fail(events, span, failure.wire());
      } else if (call.cancelled()) {
        events.fail(Status.CANCELLED);
      } else if (statusOf(e) != null) {
        events.fail(statusOf(e));
      } else if (masks(e)) {
        fail(events, span, broken(what, call, e));
      } else {
        events.end("result", plain.apply((Exception) e));
      }
    } catch (Failure failure) {
      fail(events, span, failure.wire());
    } catch (Throwable unsaid) {
      fail(events, span, broken(what, call, unsaid)); // what an exception has of its own, such as getMessage, may throw
    }
  }

  private static void require(Call call, Events events, Tracing.Current span, InputRequired ending) {
    var requests = ending == null ? call.answers().missing() : ending.questions.stream().map(q -> q.request).toList();
    try {
      events.end("input_required", call.answers().required(requests, ending));
    } catch (IllegalArgumentException e) {
      fail(events, span, new Failure(Reason.INTERNAL, e.getMessage()).wire());
    }
  }

  private static void fail(Events events, Tracing.Current span, io.mcpedge.v1.Failure failure) {
    span.failed(failure.getReason().name());
    events.end("failure", failure);
  }

  /** The status of an exception of a unary RPC. */
  private Status status(String what, Call call, Throwable thrown) {
    try {
      Throwable e = unwrapped(thrown);
      if (isFault(e)) {
        return Failure.status(broken(what, call, e));
      }
      if (find(e, Failure.class) instanceof Failure failure) {
        return Failure.status(failure.wire());
      }
      Status status = statusOf(e);
      if (status == null && masks(e)) {
        return Failure.status(broken(what, call, e));
      }
      return status == null ? Status.INTERNAL.withDescription(text(e)) : status;
    } catch (Throwable unsaid) {
      return Failure.status(broken(what, call, unsaid));
    }
  }

  /** Converts an exception without a reason, for reads and prompts. */
  static Message failPlainly(Exception e) {
    throw new Failure(Reason.INTERNAL, text(e));
  }

  private boolean masks(Throwable e) {
    return maskErrors && !(e instanceof Unanswered);
  }

  /** Returns the message of an exception. It begins with the class name if the message alone says little. */
  static String text(Throwable e) {
    String name = e.getClass().getSimpleName();
    return e.getMessage() == null || e.getMessage().isEmpty() ? name : isOfData(e) ? name + ": " + e.getMessage() : e.getMessage();
  }

  /** Returns whether it is an exception of Java about data: a missing element, an index, a division by zero. */
  private static boolean isOfData(Throwable e) {
    boolean data = e instanceof NoSuchElementException || e instanceof IndexOutOfBoundsException || e instanceof ArithmeticException;
    return data && e.getClass().getName().startsWith("java.");
  }

  /** Returns the message of a NOT_FOUND that a handler threw, as a Failure or as the status of a gRPC call; null for other exceptions. */
  static String notFound(Throwable thrown) {
    Throwable e = unwrapped(thrown);
    if (isFault(e)) {
      return null;
    }
    if (find(e, Failure.class) instanceof Failure failure) {
      return failure.reason() == Reason.NOT_FOUND ? failure.getMessage() : null;
    }
    Status status = statusOf(e);
    return status == null || status.getCode() != Status.Code.NOT_FOUND ? null : status.getDescription() == null ? "not found" : status.getDescription();
  }

  /** Logs a fault, and returns the failure without its text. */
  private static io.mcpedge.v1.Failure broken(String what, Call call, Throwable e) {
    LOG.log(Logger.Level.ERROR, "a handler failed: " + what + ", call " + call.id(), e);
    return new Failure(Reason.INTERNAL, what + " failed by a fault of the service").wire();
  }

  /**
   * Whether it is a fault of the program: a Throwable that is no Exception, or an unchecked exception of Java itself
   * (NullPointerException, ClassCastException …), except IllegalArgumentException, IllegalStateException, plain RuntimeException, and
   * those about data; not a class of one's own.
   */
  private static boolean isFault(Throwable e) {
    if (find(e, Unwound.class) != null) {
      return false;
    }
    String name = e.getClass().getName();
    boolean java = name.startsWith("java.lang.") || name.startsWith("java.util.");
    boolean said = e instanceof IllegalArgumentException || e instanceof IllegalStateException || e.getClass() == RuntimeException.class || isOfData(e);
    return !(e instanceof Exception) || e instanceof DefinitionException || (e instanceof RuntimeException && java && !said);
  }

  /** Returns the cause of an ExecutionException, a CompletionException, or an exception without its own message, as new RuntimeException(e). */
  static Throwable unwrapped(Throwable e) {
    boolean wraps = e instanceof ExecutionException || e instanceof CompletionException
        || (e instanceof Exception && e.getCause() != null && e.getCause().toString().equals(e.getMessage()));
    return wraps && e.getCause() != null ? unwrapped(e.getCause()) : e;
  }

  private static Throwable find(Throwable e, Class<?> type) {
    for (int depth = 0; e != null && depth < 20; depth++, e = e.getCause()) {
      if (type.isInstance(e)) {
        return e;
      }
    }
    return null;
  }

  private static Status statusOf(Throwable e) {
    if (find(e, StatusRuntimeException.class) instanceof StatusRuntimeException status) {
      return status.getStatus();
    }
    return find(e, StatusException.class) instanceof StatusException status ? status.getStatus() : null;
  }
}
