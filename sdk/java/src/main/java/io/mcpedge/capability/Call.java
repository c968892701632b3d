package io.mcpedge.capability;

import com.google.protobuf.ByteString;
import io.grpc.Context;
import io.mcpedge.v1.CacheHint;
import io.mcpedge.v1.CacheScope;
import io.mcpedge.v1.Checkpoint;
import io.mcpedge.v1.Defer;
import io.mcpedge.v1.LogMessage;
import io.mcpedge.v1.Progress;
import io.mcpedge.v1.RequestContext;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/**
 * One round of a tool call, a read or a prompt: the request, and the way to send events to the client while the handler runs. It
 * may be used from any thread until the handler returns; later events are dropped.
 *
 * <p>A handler that asks runs from its top in each round. A question with an answer returns it; the first one without an answer
 * ends the handler, by an Error that must not be caught. The client is then asked, and the handler runs again. Answers are kept
 * in all later rounds; a question is repeated if its answer is invalid. So:
 *
 * <ul>
 *   <li>do nothing that must not happen twice before the last question is answered, or do it in {@link #once};
 *   <li>ask in the same order under the same keys in every round.
 * </ul>
 */
public final class Call {
  private final RequestContext context;
  private volatile Principal principal;
  private final Events events; // null means a completion or a cancellation, which have none
  private final Answers answers;
  private final Context grpc = Context.current();
  private Thread thread; // of the handler; null if there is none
  private boolean cancelled;
  private double progress = Double.NEGATIVE_INFINITY;
  private boolean deferred;
  private String meta = "";
  private CacheHint cache;

  Call(RequestContext context, Events events, Answers answers) {
    this.context = context;
    this.principal = Unwire.principal(context.getPrincipal());
    this.events = events;
    this.answers = answers;
  }

  // The request.

  /** The id of the call: random, at most 64 characters, equal in all rounds and attempts, so it can be an idempotency key. */
  public String id() {
    return context.getCallId();
  }

  /** 1 for the first run of a round, and one more if it is retried because a replica was lost. */
  public int attempt() {
    return context.getAttempt();
  }

  /** 1 for the first round, and one more after each set of answers. */
  public int round() {
    return context.getRound();
  }

  /** The caller. An empty subject means anonymous. */
  public Principal principal() {
    return principal;
  }

  /**
   * A claim of the caller's access token; empty if it has none, or if the edge's setting {@code claims} of this backend does not
   * name it.
   */
  public Optional<RawJson> claim(String name) {
    return Optional.ofNullable(principal.claims().get(name));
  }

  /** The name and version that the client reports, for display only. */
  public Optional<Implementation> clientInfo() {
    return context.hasClientInfo() ? Optional.of(Unwire.implementation(context.getClientInfo())) : Optional.empty();
  }

  /**
   * The questions that the client supports. No check is needed before asking: the edge answers for a client that lacks the
   * capability. Check it to choose another way.
   */
  public ClientCapabilities clientCapabilities() {
    return Unwire.capabilities(context.getClientCapabilities());
  }

  /** {@code _meta} of the client's request, a JSON object. */
  public RawJson meta() {
    return new RawJson(context.getMetaJson().isEmpty() ? "{}" : context.getMetaJson());
  }

  /** The time until the deadline; empty if there is none. */
  public Optional<Duration> timeRemaining() {
    return Optional.ofNullable(grpc.getDeadline()).map(d -> Duration.ofNanos(Math.max(0, d.timeRemaining(TimeUnit.NANOSECONDS))));
  }

  /**
   * Whether the client has cancelled the call, or its deadline has passed. The handler's thread is then
   * interrupted.
   */
  public synchronized boolean cancelled() {
    return cancelled;
  }

  /** The id of the call's task; empty if the call is no task, or not yet. The same caller may read the task by it. */
  public Optional<String> taskId() {
    return Optional.of(context.getTask().getId()).filter(id -> !id.isEmpty());
  }

  // State, and members of the result.

  /** The state of setState or of a checkpoint in an earlier round or run; null if there is none. */
  public byte[] state() {
    return answers.state();
  }

  /** Stores bytes for the next round, if there is one. State and answers together are limited to 64 KiB. */
  public void setState(byte[] state) {
    answers.state(state);
  }

  /**
   * Returns a value that is the same in all rounds of the call: fn runs in the first round that reaches this line, and later ones
   * get its result. The key is unique among those of once in the call: in a loop it has the id of the item. The value is stored as JSON
   * in the state of the call; a round that is retried because a replica was lost runs fn again. For a list the type is an array, as {@code Loan[].class}: of List.class Jackson makes a list of Maps.
   */
  public <T> T once(String key, Class<T> type, Callable<T> fn) throws Exception {
    String text = answers.step(key);
    if (text == null) {
      try {
        text = Once.run(answers, key, type, fn);
      } catch (Throwable e) {
        answers.failed(key);
        throw e;
      }
      answers.keepOnce(key, text);
    }
    return Once.read(answers, key, type, text);
  }

  /** Returns a string that is the same in all rounds of the call, see above. */
  public String once(String key, Callable<String> fn) throws Exception {
    return once(key, String.class, fn);
  }

  /** Sets {@code _meta} of the result, a value that encodes as a JSON object; that of a Result has precedence. */
  public synchronized void setMeta(Object object) {
    meta = Wire.meta(object);
  }

  /**
   * Sets how long the client may cache the contents (0 to 30 days), and whether callers may share the cache entry. For reads
   * only.
   */
  public synchronized void setCache(Duration ttl, boolean shared) {
    cache = cacheHint(ttl, shared);
  }

  // Messages to the client.

  /** Whether the client receives progress. Check it if progress is expensive to compute. */
  public boolean wantsProgress() {
    return events != null && context.getProgressWanted();
  }

  /** Whether the client wants messages of this level. */
  public boolean wantsLog(Level level) {
    int least = context.getLogLevelValue();
    return events != null && least > 0 && level.wire().getNumber() >= least;
  }

  /** Sends progress without a total and a message. */
  public void progress(double progress) {
    progress(progress, 0, "");
  }

  /** Sends progress without a message. */
  public void progress(double progress, double total) {
    progress(progress, total, "");
  }

  /**
   * Sends progress to the client: progress out of total (0 means unknown), with a message for people (may be empty). Progress that does
   * not rise or was not requested is dropped; of the pending ones for a slow reader, only the last is kept. MCP:
   * notifications/progress.
   */
  public synchronized void progress(double progress, double total, String message) {
    if (!wantsProgress() || !(progress > this.progress)) {
      return;
    }
    this.progress = progress;
    var event = Progress.newBuilder().setProgress(progress).setMessage(Json.valid(message));
    if (total != 0) {
      event.setTotal(total);
    }
    events.put("progress", event.build());
  }

  /** Sends a log message without a logger's name. */
  public void log(Level level, Object data) {
    log(level, data, "");
  }

  /**
   * Sends the client a log message: any value that encodes as JSON, under a logger's name. Messages below the client's level are
   * dropped before encoding. They must not contain secrets. MCP: notifications/message.
   */
  public void log(Level level, Object data, String logger) {
    if (!wantsLog(level)) {
      return;
    }
    String text;
    try {
      text = Json.encode(data);
    } catch (IllegalArgumentException e) {
      text = Json.encode("log data that is not JSON: " + e.getMessage());
    }
    events.put("log", LogMessage.newBuilder().setLevel(level.wire()).setLogger(Json.valid(logger)).setDataJson(Json.valid(text)).build());
  }

  /**
   * Makes the call a task now, if it may become one and is not one yet; otherwise it does nothing. A task does not end when its
   * client disconnects.
   */
  public synchronized void defer() {
    if (events != null && context.hasTask() && taskId().isEmpty() && !deferred) {
      deferred = true;
      events.put("defer", Defer.getDefaultInstance());
    }
  }

  /**
   * Stores a checkpoint: if the edge's replica that runs the call is lost, the handler runs again from its top, with this state
   * and the answers so far. Above 64 KiB it throws IllegalArgumentException, and stores nothing. It does nothing with an edge
   * that does not support checkpoints.
   */
  public void checkpoint(byte[] state) {
    if (events == null || !context.getCheckpoints()) {
      return;
    }
    ByteString memory = answers.checkpoint(state);
    answers.state(state);
    events.put("checkpoint", Checkpoint.newBuilder().setState(memory).build());
  }

  // Questions.

  /**
   * Asks the user by a form made from a record, or for one value: see {@link Question#form}. Throws Declined or Dismissed. MCP:
   * elicitation/create in form mode.
   */
  public <T> T ask(String key, String message, Class<T> form) {
    return answer(Question.form(key, message, form));
  }

  /** Asks by a flat JSON Schema, which is sent unchanged. */
  public ElicitResult askForm(String key, String message, String schema) {
    return answer(Question.formSchema(key, message, schema));
  }

  /** Asks the user to open an https: URL. MCP: elicitation/create in URL mode. */
  public ElicitResult askUrl(String key, String message, String url) {
    return answer(Question.openUrl(key, message, url));
  }

  /** Requests a completion from the client's model; {@link SamplingResult#text} returns its text. MCP: sampling/createMessage. */
  public SamplingResult sample(String key, SamplingRequest request) {
    return answer(Question.sampling(key, request));
  }

  /** Requests a completion for one message of the user, with at most maxTokens tokens. */
  public SamplingResult sample(String key, String prompt, int maxTokens) {
    return answer(Question.sampling(key, prompt, maxTokens));
  }

  /** Requests the directories and files that the client works on; there may be none. MCP: roots/list. */
  public List<Root> roots(String key) {
    return answer(Question.listRoots(key));
  }

  /**
   * Ensures that all these questions are answered, whatever the answers are: the open ones are asked in one round, at most 16.
   * Afterwards {@link #answer} returns each answer at once.
   */
  public void askAll(Question<?>... questions) {
    if (events == null) {
      throw new DefinitionException("the client cannot be asked here: only tools, reads and prompts can");
    }
    if (answers.miss(List.of(questions), id())) {
      throw new Unwound();
    }
  }

  /** Returns the answer to a question. Throws Declined or Dismissed if the question does. */
  public <T> T answer(Question<T> question) {
    askAll(question);
    return question.read(answers.find(question.request.getKey(), question::fits));
  }

  /**
   * The answer to a question, if it was given and is valid: for handlers that throw InputRequired themselves. Throws Declined or
   * Dismissed if the question does.
   */
  public <T> Optional<T> answered(Question<T> question) {
    return Optional.ofNullable(answers.find(question.request.getKey(), question::fits)).map(question::read);
  }

  // For the library.

  /** The thread that runs the handler from now on, which a cancellation interrupts; null if there is none, and its interrupt is over. */
  synchronized void runIn(Thread handler) {
    thread = handler;
    if (handler == null) {
      Thread.interrupted();
    } else if (cancelled) {
      handler.interrupt();
    }
  }

  synchronized void cancel() {
    cancelled = true;
    if (thread != null) {
      thread.interrupt();
    }
  }

  /** Replaces the caller by the verified one. */
  void principal(Principal verified) {
    principal = verified;
  }

  Answers answers() {
    return answers;
  }

  synchronized String metaJson() {
    return meta;
  }

  synchronized CacheHint cache() {
    return cache;
  }

  static CacheHint cacheHint(Duration ttl, boolean shared) {
    long ms = ttl.toMillis();
    var wire = com.google.protobuf.Duration.newBuilder().setSeconds(ms / 1000).setNanos((int) (ms % 1000) * 1_000_000);
    var scope = shared ? CacheScope.CACHE_SCOPE_PUBLIC : CacheScope.CACHE_SCOPE_PRIVATE;
    return CacheHint.newBuilder().setTtl(wire).setScope(scope).build();
  }
}
