package io.mcpedge.capability;

import com.google.protobuf.Message;
import io.grpc.stub.ServerCallStreamObserver;
import io.mcpedge.v1.LogLevel;
import io.mcpedge.v1.LogMessage;
import java.util.*;

/**
 * The events of one round, in order, and its outcome. Nothing blocks: events wait for a slow reader, coalesced. Safe for
 * concurrent use.
 */
final class Events {
  /** The number of waiting events from which new progress replaces waiting progress, and a checkpoint a waiting one. */
  private static final int COALESCE = 64;
  /** The maximum number of waiting events; further log messages are dropped, and the client gets their number. */
  private static final int MOST = 1024;

  private record Event(String kind, Message message) {}

  private final ServerCallStreamObserver<Message> to;
  private final Message response;
  private final Deque<Event> waiting = new ArrayDeque<>();
  private int dropped;
  private boolean over;

  /** response is the default instance of the stream's messages, whose members are named by the kinds. */
  Events(ServerCallStreamObserver<Message> to, Message response) {
    this.to = to;
    this.response = response;
    to.setOnReadyHandler(this::flush);
  }

  /** Adds an event; it is dropped after the outcome, and if the stream has no such kind. */
  synchronized void put(String kind, Message event) {
    if (over || response.getDescriptorForType().findFieldByName(kind) == null) {
      return;
    }
    boolean coalesced = kind.equals("progress") || kind.equals("checkpoint");
    if (coalesced && waiting.size() >= COALESCE) {
      removeLast(kind);
    }
    if (kind.equals("log") && waiting.size() >= MOST) {
      dropped++;
      return;
    }
    waiting.add(new Event(kind, event));
    flush();
  }

  /** Sends the waiting events and the outcome, and ends the stream. */
  synchronized void end(String kind, Message outcome) {
    if (over) {
      return;
    }
    over = true;
    waiting.forEach(e -> send(e.kind, e.message));
    waiting.clear();
    if (dropped > 0) {
      String text = Json.encode(dropped + " log messages were dropped: the client reads too slowly");
      send("log", LogMessage.newBuilder().setLevel(LogLevel.LOG_LEVEL_WARNING).setDataJson(text).build());
    }
    send(kind, outcome);
    if (!to.isCancelled()) {
      to.onCompleted();
    }
  }

  /** Ends the stream with a status. */
  synchronized void fail(io.grpc.Status status) {
    if (!over && !to.isCancelled()) {
      to.onError(status.asRuntimeException());
    }
    over = true;
  }

  private synchronized void flush() {
    while (!over && to.isReady() && !waiting.isEmpty()) {
      Event next = waiting.poll();
      send(next.kind, next.message);
    }
  }

  private void send(String kind, Message message) {
    if (to.isCancelled()) {
      return;
    }
    var field = response.getDescriptorForType().findFieldByName(kind);
    to.onNext(response.newBuilderForType().setField(field, message).build());
  }

  private void removeLast(String kind) {
    for (Iterator<Event> i = waiting.descendingIterator(); i.hasNext(); ) {
      if (i.next().kind.equals(kind)) {
        i.remove();
        return;
      }
    }
  }
}
