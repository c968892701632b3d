package io.mcpedge.capability;

import com.google.protobuf.ByteString;
import io.grpc.Context;
import io.mcpedge.v1.*;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/**
 * One round of a call of a tool, of a read or of a prompt: what the handler may know of the request, and its way to the client while
 * it runs. All of it may be used from any thread until the handler returns; after that events are dropped.
 *
 * <p>A handler that asks is run from its top in each round. A question whose answer has come returns it; the first one without an
 * answer ends the handler on the spot, by an Error that is not to be caught. The client is then asked, and the handler runs again.
 * Answers survive all later rounds; one that does not fit its question is asked for again. So:
 *
 * <ul>
 *   <li>do nothing that must not happen twice before the last question is answered, or do it in {@link #once};
 *   <li>ask in the same order under the same keys in every round.
 * </ul>
 */
public final class Call {
  private final RequestContext context;
  private final Events events; // null: a completion or a cancellation, which have none
  private final Answers answers;
  private final Context grpc = Context.current();
  private Thread thread; // that the handler runs in; null: none
  private boolean cancelled;
  private double progress = Double.NEGATIVE_INFINITY;
  private boolean deferred;
  private String meta = "";
  private CacheHint cache;

  Call(RequestContext context, Events events, Answers answers) {
    this.context = context;
    this.events = events;
    this.answers = answers;
  }

  // What is known of the request.

  /** Random, at most 64 characters, and the same over the rounds and re-runs of one call: a key for idempotency. */
  public String id() {
    return context.getCallId();
  }

  /** 1 for the first run of a round, and one more when it is run again because a replica was lost. */
  public int attempt() {
    return context.getAttempt();
  }

  /** 1 at first, and one more each time answers came. */
  public int round() {
    return context.getRound();
  }

  /** Who is calling. An empty subject is anonymous. */
  public Principal principal() {
    return context.getPrincipal();
  }

  /** A claim of the caller's access token; empty where it has none, or the edge's setting {@code claims} of this backend does not name it. */
  public Optional<RawJson> claim(String name) {
    return Optional.ofNullable(principal().getClaimsJsonMap().get(name)).map(RawJson::new);
  }

  /** The client's own word of what it is, for display only. */
  public Optional<Implementation> clientInfo() {
    return context.hasClientInfo() ? Optional.of(context.getClientInfo()) : Optional.empty();
  }

  /**
   * What the client can be asked. No check is needed before asking: the edge answers for a client that cannot. Check to take another
   * way instead.
   */
  public ClientCapabilities clientCapabilities() {
    return context.getClientCapabilities();
  }

  /** {@code _meta} of the client's request, a JSON object. */
  public RawJson meta() {
    return new RawJson(context.getMetaJson().isEmpty() ? "{}" : context.getMetaJson());
  }

  /** How long is left until the deadline; empty: there is none. */
  public Optional<Duration> timeRemaining() {
    return Optional.ofNullable(grpc.getDeadline()).map(d -> Duration.ofNanos(Math.max(0, d.timeRemaining(TimeUnit.NANOSECONDS))));
  }

  /**
   * Whether nobody waits for the call any more: the client cancelled it, or its deadline is over. The handler's thread is interrupted
   * when that happens.
   */
  public synchronized boolean cancelled() {
    return cancelled;
  }

  /** The id of the task that the call is; empty: it is none, or none yet. Whoever knows it and is the same caller may read the task. */
  public Optional<String> taskId() {
    return Optional.of(context.getTask().getId()).filter(id -> !id.isEmpty());
  }

  // What is kept, and what goes with the result.

  /** What setState or a checkpoint kept in an earlier round or run; null: nothing was. */
  public byte[] state() {
    return answers.state();
  }

  /** Keeps bytes for the next round, if there is one. With the answers they are bounded to 64 KiB. */
  public void setState(byte[] state) {
    answers.state(state);
  }

  /**
   * A value that is the same in all rounds of the call: fn runs in the first round that comes by, and later ones get what it returned.
   * The value is kept as JSON in the state of the call; a round that is run again because a replica was lost runs fn again.
   */
  public <T> T once(String key, Class<T> type, Callable<T> fn) throws Exception {
    String text = answers.once(key);
    if (text == null) {
      text = Json.encode(fn.call());
      answers.keepOnce(key, text);
    }
    return Json.decode(text, type);
  }

  /** As above, of a string. */
  public String once(String key, Callable<String> fn) throws Exception {
    return once(key, String.class, fn);
  }

  /** Sets {@code _meta} of the result, a value that encodes as a JSON object; a Result's own wins. */
  public synchronized void setMeta(Object object) {
    String text = Json.encode(object);
    if (!text.startsWith("{")) {
      throw new IllegalArgumentException("_meta must be a JSON object, not " + Json.quote(text));
    }
    meta = text;
  }

  /** How long the client may keep what was read (0 to 30 days), and whether all callers may share it. Only for reads. */
  public synchronized void setCache(Duration ttl, boolean shared) {
    cache = cacheHint(ttl, shared);
  }

  // What the client is told.

  /** Whether progress goes anywhere; for handlers whose count is dear. */
  public boolean wantsProgress() {
    return events != null && context.getProgressWanted();
  }

  /** Whether the client wants messages of this level. */
  public boolean wantsLog(Level level) {
    int least = context.getLogLevelValue();
    return events != null && least > 0 && level.wire().getNumber() >= least;
  }

  /** As below, without a total and a message. */
  public void progress(double progress) {
    progress(progress, 0, "");
  }

  /** As below, without a message. */
  public void progress(double progress, double total) {
    progress(progress, total, "");
  }

  /**
   * Tells the client how far the call is: progress out of total (0: unknown), with a message for people (may be empty). What does not
   * rise, and what nobody wants, is dropped, and so is all but the last of what a slow reader has not taken. MCP:
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

  /** As below, of no logger. */
  public void log(Level level, Object data) {
    log(level, data, "");
  }

  /**
   * Sends the client a log message: any value that encodes as JSON, under a logger's name. Below the client's level it costs nothing.
   * No secrets. MCP: notifications/message.
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
    events.put("log", LogMessage.newBuilder().setLevel(level.wire()).setLogger(logger).setDataJson(Json.valid(text)).build());
  }

  /**
   * Makes the call a task now, if it may become one and is none yet; else it does nothing. From then on the call is not ended by its
   * client's leaving.
   */
  public synchronized void defer() {
    if (events != null && context.hasTask() && taskId().isEmpty() && !deferred) {
      deferred = true;
      events.put("defer", Defer.getDefaultInstance());
    }
  }

  /**
   * Says that the handler can go on from here: should the edge's replica that runs the call be lost, the handler runs again from its
   * top, with this state and the answers that it has. IllegalArgumentException when they have more than 64 KiB, which changes nothing.
   * With an edge that takes no checkpoints it does nothing.
   */
  public void checkpoint(byte[] state) {
    if (events == null || !context.getCheckpoints()) {
      return;
    }
    ByteString memory = answers.checkpoint(state);
    answers.state(state);
    events.put("checkpoint", Checkpoint.newBuilder().setState(memory).build());
  }

  // What the client is asked.

  /**
   * Asks the user by a form made from a record, or for one value: see {@link Question#form}. Throws Declined or Cancelled. MCP:
   * elicitation/create in form mode.
   */
  public <T> T ask(String key, String message, Class<T> form) {
    return answer(Question.form(key, message, form));
  }

  /** Asks by a flat JSON Schema, sent as it is. */
  public ElicitResult askForm(String key, String message, String schema) {
    return answer(Question.formSchema(key, message, schema));
  }

  /** Asks the user to open an https: URL. MCP: elicitation/create in URL mode. */
  public ElicitResult askUrl(String key, String message, String url) {
    return answer(Question.openUrl(key, message, url));
  }

  /** Asks the client's model; {@link Content#said} has the text of what comes. MCP: sampling/createMessage. */
  public CreateMessageResult sample(String key, CreateMessage request) {
    return answer(Question.sampling(key, request));
  }

  /** As above, with one message of the user and at most so many tokens. */
  public CreateMessageResult sample(String key, String prompt, int maxTokens) {
    return answer(Question.sampling(key, prompt, maxTokens));
  }

  /** Asks for the directories and files that the client works on; there may be none. MCP: roots/list. */
  public List<Root> roots(String key) {
    return answer(Question.listRoots(key));
  }

  /**
   * Makes sure that all these questions are answered, whatever the answers are: those that are not are asked in one round, at most 16.
   * Then {@link #answer} returns that of each at once.
   */
  public void askAll(Question<?>... questions) {
    if (events == null) {
      throw new DefinitionException("the client cannot be asked here: only tools, reads and prompts can");
    }
    if (answers.miss(List.of(questions), id())) {
      throw new Unwound();
    }
  }

  /** The answer to a question. It throws Declined or Cancelled where the question does. */
  public <T> T answer(Question<T> question) {
    askAll(question);
    return question.read(answers.find(question.request.getKey(), question::fits));
  }

  /**
   * The client's answer to a key as it came, or null: for handlers that throw InputRequired themselves. It is kept for the later
   * rounds.
   */
  public InputResponse response(String key) {
    return answers.find(key, r -> true);
  }

  // What the library does with it.

  /** The thread that runs the handler from now on, which a cancellation interrupts; null: none, and its interrupt is over. */
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
