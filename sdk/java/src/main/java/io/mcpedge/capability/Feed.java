package io.mcpedge.capability;

import com.google.protobuf.Message;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Function;

/**
 * Notifies any number of watchers of changes. A watcher holds no thread while nothing changes. Events for a slow one are
 * coalesced; publishing never blocks.
 */
final class Feed {
  /** The maximum number of URIs that wait for a watcher; more become one event for the watched URI. */
  private static final int MAX_PENDING = 1024;

  private final Executor executor;
  private final Set<Watcher<?>> watchers = ConcurrentHashMap.newKeySet();

  Feed(Executor executor) {
    this.executor = executor;
  }

  /** The resources of a watcher, from its start to its end. */
  interface Holding {
    Holding NONE = new Holding() {};

    /** Called before the first event and before each further one. It may throw, which ends the watcher. */
    default void take() throws Exception {}

    default void release() {}
  }

  /** Publishes the change of a URI; "" in a feed of lists. */
  void publish(String uri) {
    watchers.forEach(w -> w.add(uri));
  }

  /** Ends all watchers. It does not wait for watchers that a provider blocks. */
  void close() {
    Status status = Status.UNAVAILABLE.withDescription("the service is stopping; watch again elsewhere");
    for (Watcher<?> w : watchers) {
      try {
        executor.execute(() -> w.end(status));
      } catch (RejectedExecutionException e) {
        w.end(status); // the program has closed its executor already
      }
    }
  }

  /** Serves one watcher of a URI ("" means of all): sends started, then one event for each change, until it disconnects. */
  <M extends Message> void serve(String uri, StreamObserver<M> observer, M started, Function<String, M> event, Holding holding) {
    var watcher = new Watcher<>(uri, (ServerCallStreamObserver<M>) observer, started, event, holding);
    watchers.add(watcher);
    executor.execute(watcher::deliver);
  }

  private final class Watcher<M extends Message> {
    private final String uri;
    private final ServerCallStreamObserver<M> to;
    private final Function<String, M> event;
    private final Holding holding;
    private final Set<String> pending = new LinkedHashSet<>(); // guards itself
    private M started; // null after it was sent
    private boolean over;

    Watcher(String uri, ServerCallStreamObserver<M> to, M started, Function<String, M> event, Holding holding) {
      this.uri = uri;
      this.to = to;
      this.started = started;
      this.event = event;
      this.holding = holding;
      to.setOnReadyHandler(() -> executor.execute(this::deliver));
      to.setOnCancelHandler(() -> executor.execute(() -> end(null)));
    }

    /** Adds a changed URI, if it is the watched one, or below a watched one that ends with "/". */
    void add(String changed) {
      if (!changed.equals(uri) && !(uri.endsWith("/") && changed.startsWith(uri))) {
        return;
      }
      synchronized (pending) {
        boolean full = pending.size() == MAX_PENDING && !pending.contains(changed);
        if (full) {
          pending.clear();
        }
        pending.add(full ? uri : changed);
      }
      executor.execute(this::deliver);
    }

    /** Sends the waiting events if the reader is ready. */
    synchronized void deliver() {
      if (over || !to.isReady()) {
        return;
      }
      List<String> changed;
      synchronized (pending) {
        if (started == null && pending.isEmpty()) {
          return;
        }
        changed = started == null ? List.copyOf(pending) : List.of();
        pending.removeAll(changed);
      }
      try {
        holding.take();
      } catch (Throwable e) {
        end(Status.UNAVAILABLE.withDescription("it cannot be watched: " + Rounds.text(e)));
        return;
      }
      if (started != null) {
        to.onNext(started);
        started = null;
        deliver();
      }
      changed.forEach(c -> to.onNext(event.apply(c)));
    }

    /** Ends the watcher. A null status means that the caller has disconnected. */
    synchronized void end(Status status) {
      if (over) {
        return;
      }
      over = true;
      watchers.remove(this);
      holding.release();
      if (status != null && !to.isCancelled()) {
        to.onError(status.asRuntimeException());
      }
    }
  }
}
