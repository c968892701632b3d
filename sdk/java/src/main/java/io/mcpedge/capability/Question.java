package io.mcpedge.capability;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.mcpedge.v1.ElicitForm;
import io.mcpedge.v1.ElicitUrl;
import io.mcpedge.v1.InputRequest;
import io.mcpedge.v1.InputResponse;
import io.mcpedge.v1.ListRoots;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * A question to the client, under a key that is unique within the call, with an answer of type T. {@link Call#askAll} asks
 * several at once.
 */
public final class Question<T> {
  /** Formats that clients can show. */
  private static final Set<String> FORMATS = Set.of("", "email", "uri", "date", "date-time");
  private static final Set<String> FLAT = Set.of("string", "number", "integer", "boolean");
  private static final Map<Class<?>, ObjectNode> FORMS = new ConcurrentHashMap<>();

  final InputRequest request;
  private final Function<InputResponse, String> misfit;
  private final Function<InputResponse, T> read;

  private Question(InputRequest.Builder request, Function<InputResponse, String> misfit, Function<InputResponse, T> read) {
    this.request = request.build();
    this.misfit = misfit;
    this.read = read;
  }

  boolean fits(InputResponse response) {
    return misfit(response) == null;
  }

  /** Returns why a response is invalid, so that the question is repeated; null if it is valid. */
  String misfit(InputResponse response) {
    return misfit.apply(response);
  }

  /**
   * Why an answer to a question is invalid; null if it is valid. A form's schema decides, with the formats date, date-time and
   * uri. {@link Call#ask} repeats the question.
   */
  static String misfit(InputRequest question, InputResponse answer) {
    String key = question.getKey();
    return switch (question.getRequestCase()) {
      case ELICIT_FORM -> formSchema(key, "", question.getElicitForm().getRequestedSchemaJson()).misfit(answer);
      case ELICIT_URL -> openUrl(key, "", "").misfit(answer);
      case CREATE_MESSAGE -> model(key, question.getCreateMessage()).misfit(answer);
      case LIST_ROOTS -> listRoots(key).misfit(answer);
      default -> raw(key, new RawJson("{}")).misfit(answer);
    };
  }

  /** The answer in a valid response. It may throw Declined or Dismissed. */
  T read(InputResponse response) {
    return read.apply(response);
  }

  /**
   * A form generated from a record of strings, numbers, booleans, enums and lists of enums, with the annotations of arguments; or
   * from one of the types of members, for one value, which is named by the key. The answer may be Declined or Dismissed. MCP:
   * elicitation/create in form mode.
   */
  public static <T> Question<T> form(String key, String message, Class<T> type) {
    boolean single = !type.isRecord();
    ObjectNode schema = single ? singleForm(key, type) : FORMS.computeIfAbsent(type, t -> flat(Schemas.ofArguments("the form " + key, t)));
    Rules rules = new Rules(schema);
    Arguments<T> content = Arguments.ofForm(type, schema, single ? key : null);
    return elicitation(formRequest(key, message, schema.toString()), text -> {
      String wrong = rules.misfit(text);
      return wrong == null ? content.misfit(text) : wrong;
    }, r -> content.read(elicited(r).orThrow().content().text()));
  }

  /** A form by a flat JSON Schema object of primitive properties, which is sent unchanged. */
  public static Question<ElicitResult> formSchema(String key, String message, String schema) {
    Rules rules = new Rules(Json.object("the schema of the form " + key, schema));
    return elicitation(formRequest(key, message, schema), rules::misfit, Question::elicited);
  }

  /**
   * Asks the user to open an https: URL, for data that must not pass through the client: logins, secrets, payments. ACCEPT means
   * that the user agreed to open it, not that the page was completed. MCP: elicitation/create in URL mode.
   */
  public static Question<ElicitResult> openUrl(String key, String message, String url) {
    var request = InputRequest.newBuilder().setKey(key).setElicitUrl(ElicitUrl.newBuilder().setMessage(message).setUrl(url));
    return elicitation(request, text -> null, Question::elicited);
  }

  /** Requests a completion from the client's model. MCP: sampling/createMessage. */
  public static Question<SamplingResult> sampling(String key, SamplingRequest request) {
    return model(key, Wire.sampling(request));
  }

  private static Question<SamplingResult> model(String key, io.mcpedge.v1.CreateMessage request) {
    return new Question<>(InputRequest.newBuilder().setKey(key).setCreateMessage(request),
        r -> r.getCreateMessage().getContentCount() > 0 ? null : "it must be a message of a model", r -> Unwire.sampled(r.getCreateMessage()));
  }

  /** Requests a completion for one message of the user, with at most maxTokens tokens. */
  public static Question<SamplingResult> sampling(String key, String prompt, int maxTokens) {
    return sampling(key, SamplingRequest.builder().maxTokens(maxTokens).messages(new SamplingMessage(Role.USER, prompt)).build());
  }

  /** Asks for the directories and files that the client works on. MCP: roots/list. */
  public static Question<List<Root>> listRoots(String key) {
    return new Question<>(InputRequest.newBuilder().setKey(key).setListRoots(ListRoots.getDefaultInstance()),
        r -> r.hasListRoots() ? null : "it must be a list of roots", r -> r.getListRoots().getRootsList().stream().map(Unwire::root).toList());
  }

  /** A request of another kind: a JSON object with method and params. The answer is the client's result. */
  public static Question<RawJson> raw(String key, RawJson request) {
    Json.object("the question " + key, request.text());
    return new Question<>(InputRequest.newBuilder().setKey(key).setRawJson(request.text()),
        r -> r.getRawJson().isEmpty() ? "it must be JSON" : null, r -> new RawJson(r.getRawJson()));
  }

  private static InputRequest.Builder formRequest(String key, String message, String schema) {
    return InputRequest.newBuilder().setKey(key).setElicitForm(ElicitForm.newBuilder().setMessage(message).setRequestedSchemaJson(schema));
  }

  /** Creates a question by a form. misfit returns why the content is invalid; null if it is valid. */
  private static <T> Question<T> elicitation(InputRequest.Builder request, Function<String, String> misfit, Function<InputResponse, T> read) {
    return new Question<>(request, r -> switch (r.getElicit().getAction()) {
      case ELICIT_ACTION_ACCEPT -> misfit.apply(r.getElicit().getContentJson());
      case ELICIT_ACTION_DECLINE, ELICIT_ACTION_CANCEL -> null;
      default -> "it must accept, decline or cancel";
    }, read);
  }

  private static ElicitResult elicited(InputResponse response) {
    String content = response.getElicit().getContentJson();
    return switch (response.getElicit().getAction()) {
      case ELICIT_ACTION_ACCEPT -> new ElicitResult(ElicitResult.Action.ACCEPT, content.isEmpty() ? null : new RawJson(content));
      case ELICIT_ACTION_DECLINE -> new ElicitResult(ElicitResult.Action.DECLINE, null);
      default -> new ElicitResult(ElicitResult.Action.CANCEL, null);
    };
  }

  private static ObjectNode singleForm(String key, Class<?> type) {
    ObjectNode schema = Json.MAPPER.createObjectNode().put("type", "object");
    schema.putObject("properties").set(key, Schemas.of("the form " + key, type, false));
    schema.putArray("required").add(key);
    return flat(schema);
  }

  /** Throws DefinitionException unless a form has only members that clients can show. */
  private static ObjectNode flat(ObjectNode schema) {
    for (var member : schema.path("properties").properties()) {
      JsonNode rule = member.getValue();
      boolean choices = rule.path("type").asText().equals("array") && rule.at("/items/enum").isArray();
      String format = Bytes.are(rule) ? "base64" : rule.path("format").asText();
      if (!FORMATS.contains(format)) {
        throw new DefinitionException("member " + member.getKey() + " of a form: no client knows the format " + format + "; use a String, or email, uri, date or date-time");
      }
      if (rule.has("exclusiveMinimum") || rule.has("exclusiveMaximum")) {
        throw new DefinitionException("member " + member.getKey() + " of a form: no client knows a bound that is excluded; use @Min and @Max, or @Limits");
      }
      if (!FLAT.contains(rule.path("type").asText()) && !choices) {
        throw new DefinitionException("member " + member.getKey() + " of a form: use a string, number, boolean, enum or a list of enums");
      }
    }
    return schema;
  }
}
