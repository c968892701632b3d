package io.mcpedge.capability;

import com.google.protobuf.*;
import io.mcpedge.v1.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.function.Predicate;

/** The state of a call between its rounds: the answers so far, and the questions of this round without an answer. */
final class Answers {
  private static final System.Logger LOG = System.getLogger("io.mcpedge.capability");

  /** The maximum size of a state, in bytes. */
  static final int MAX_STATE = 64 << 10;

  private static final int MAX_REQUESTS = 16;
  private static final int MAX_KEY = 128;
  /** How often one round may ask one question that has an answer: a loop that asks until it likes the answer would not end. */
  private static final int MAX_REPEATS = 1000;
  /** The prefix of states that the libraries write; the last byte is the version. */
  private static final ByteString MARK = ByteString.copyFromUtf8("\0capability\1");
  /** The prefix of the keys of values that once keeps; answers of clients with it are dropped. */
  private static final String ONCE = "\0once:";

  private final Map<String, InputResponse> kept = new LinkedHashMap<>();
  private final Map<String, InputResponse> latest = new LinkedHashMap<>();
  private final Map<String, InputRequest> missing = new LinkedHashMap<>();
  private final Map<String, Asked> asked = new HashMap<>();
  private final Set<String> stepped = new HashSet<>();
  private Failure mistake;
  private byte[] state;

  /** A question of this round, and how often it was asked. */
  private record Asked(InputRequest request, int times) {}

  /** Throws Failure INVALID_ARGUMENT if the state was not made by this library. */
  Answers(List<InputResponse> responses, ByteString memory) {
    responses.stream().filter(r -> !r.getKey().startsWith(ONCE)).forEach(r -> latest.putIfAbsent(r.getKey(), r));
    if (memory.isEmpty()) {
      return;
    }
    try {
      if (!memory.startsWith(MARK)) {
        throw new InvalidProtocolBufferException("no mark");
      }
      var read = CallToolRequest.parseFrom(memory.substring(MARK.size())); // has the fields of the state: answers, and bytes of the handler
      read.getInputResponsesList().forEach(r -> kept.put(r.getKey(), r));
      boolean none = read.getState().isEmpty() && read.getArgumentsJson().isEmpty();
      state = none ? null : read.getState().toByteArray();
    } catch (InvalidProtocolBufferException e) {
      throw new Failure(Reason.INVALID_ARGUMENT, "the state of this call was written by another version of the service; call again from the start");
    }
  }

  synchronized byte[] state() {
    return state;
  }

  synchronized void state(byte[] bytes) {
    state = bytes;
  }

  synchronized boolean unwound() {
    return !missing.isEmpty();
  }

  synchronized List<InputRequest> missing() {
    return List.copyOf(missing.values());
  }

  /**
   * The answer to a key; null if none fits. An answer of an earlier round has precedence, so that a client cannot change it. A new
   * answer that fits is kept.
   */
  synchronized InputResponse find(String key, Predicate<InputResponse> fits) {
    InputResponse found = kept.get(key);
    if (found != null && fits.test(found)) {
      return found;
    }
    found = latest.get(key);
    if (found == null || !fits.test(found)) {
      return null;
    }
    kept.put(key, found);
    return found;
  }

  /**
   * Records the questions without an answer, and returns whether any question of the round has none: then the round ends in questions.
   * Throws Failure INTERNAL if another question of the round has the same key, as one answer would be that of both, or if one was asked too often.
   */
  synchronized boolean miss(List<Question<?>> questions, String call) {
    for (Question<?> q : questions) { // all of them before any is recorded: the round would end in those
      String key = q.request.getKey();
      Asked before = asked.getOrDefault(key, new Asked(q.request, 0));
      asked.put(key, new Asked(before.request, before.times + 1));
      if (!before.request.equals(q.request)) {
        throw mistaken("two different questions have the key " + quoted(key) + "; give each its own, as " + quoted(key + "-") + " + id");
      }
      if (before.times >= MAX_REPEATS) {
        throw mistaken("one round asked the question " + quoted(key) + " " + MAX_REPEATS + " times, and its answer stays the same; ask again under another key, as "
            + quoted(key + "-") + " + attempt");
      }
    }
    for (Question<?> q : questions) {
      String key = q.request.getKey();
      if (find(key, q::fits) == null && missing.put(key, q.request) == null && latest.containsKey(key)) {
        LOG.log(System.Logger.Level.INFO, "call " + call + " repeats a question: the answer to " + Json.quote(key) + " does not fit: " + q.misfit(latest.get(key)));
      }
    }
    return unwound();
  }

  /** Records a mistake of the handler and returns its Failure. The first one ends the round, also if the handler catches it. */
  synchronized Failure mistaken(String what) {
    mistake = mistake == null ? new Failure(Reason.INTERNAL, what) : mistake;
    return mistake;
  }

  /** Returns the mistake that ends the round, null if there is none. */
  synchronized Failure mistake() {
    return mistake;
  }

  /**
   * Begins a step of once, and returns the JSON that keepOnce stored under its key, null if there is none. Throws Failure INTERNAL if this round has its
   * value already, as the function would not run.
   */
  synchronized String step(String key) {
    String wrong = wrongKey("once", key);
    if (wrong != null) {
      throw mistaken(wrong);
    }
    if (!stepped.add(key)) {
      throw mistaken("once " + quoted(key) + " came twice in one round, where the second has the value of the first; give each its own key, as " + quoted(key + "-") + " + id");
    }
    InputResponse response = kept.get(ONCE + key);
    return response == null ? null : response.getRawJson();
  }

  /** Ends a step of once whose function failed: it may run again. */
  synchronized void failed(String key) {
    stepped.remove(key);
  }

  synchronized void keepOnce(String key, String json) {
    kept.put(ONCE + key, InputResponse.newBuilder().setKey(ONCE + key).setRawJson(json).build());
  }

  /** The state for a checkpoint, with the answers not requested yet. Throws IllegalArgumentException above MAX_STATE. */
  synchronized ByteString checkpoint(byte[] next) {
    Map<String, InputResponse> all = new LinkedHashMap<>(latest);
    all.putAll(kept);
    return memory(all.values(), next);
  }

  /** The outcome with the questions, and the state for the next round. Throws IllegalArgumentException if it violates the contract. */
  synchronized io.mcpedge.v1.InputRequired required(List<InputRequest> requests, InputRequired ending) {
    if (ending != null && ending.state != null) {
      state = ending.state;
    }
    if (requests.size() > MAX_REQUESTS) {
      throw new IllegalArgumentException(requests.size() + " questions in one round; ask at most " + MAX_REQUESTS + " at once");
    }
    Set<String> seen = new HashSet<>();
    for (InputRequest request : requests) {
      String wrong = wrongKey("a question", request.getKey());
      if (wrong != null) {
        throw new IllegalArgumentException(wrong);
      }
      if (!seen.add(request.getKey())) {
        throw new IllegalArgumentException("two questions of one round have the key " + quoted(request.getKey()) + "; give each its own");
      }
    }
    var out = io.mcpedge.v1.InputRequired.newBuilder().addAllRequests(requests).setState(memory(kept.values(), state));
    if (ending != null) {
      out.setRepeatable(ending.repeatable);
      if (!ending.retryAfter.isZero()) {
        out.setRetryAfter(Duration.newBuilder().setSeconds(ending.retryAfter.getSeconds()).setNanos(ending.retryAfter.getNano()));
      }
    }
    return out.build();
  }

  private static ByteString memory(Collection<InputResponse> answers, byte[] state) {
    var memory = CallToolRequest.newBuilder().addAllInputResponses(new ArrayList<>(answers));
    if (state != null) {
      memory.setState(ByteString.copyFrom(state)).setArgumentsJson("{}"); // distinguishes an empty state from none
    }
    ByteString out = MARK.concat(memory.build().toByteString());
    if (out.size() > MAX_STATE) {
      throw new IllegalArgumentException("answers and state of this call have " + out.size() + " bytes, above the " + MAX_STATE
          + " that survive a round; keep large data elsewhere, under Call.id");
    }
    return out;
  }

  /** What is wrong with a key; null: nothing is. */
  private static String wrongKey(String of, String key) {
    int size = key.getBytes(StandardCharsets.UTF_8).length;
    return size >= 1 && size <= MAX_KEY ? null : "the key of " + of + " has 1 to " + MAX_KEY + " bytes, not " + size + ": " + quoted(key);
  }

  private static String quoted(String key) {
    return Json.quote(key.length() > 40 ? key.substring(0, 40) : key);
  }
}
