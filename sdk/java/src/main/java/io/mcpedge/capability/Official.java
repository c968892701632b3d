package io.mcpedge.capability;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.stream.BaseStream;

/**
 * Takes results of the official SDK, {@code io.modelcontextprotocol.spec.McpSchema}, as they are, and Maps with the members of MCP. The
 * SDK is no dependency: its records are read as the JSON that they stand for. What has some of the members of a result and cannot be
 * one is an error, which says what to write; nothing is guessed.
 *
 * @param owner the handler that returned it, for messages, such as: tool greet
 * @param value what to write if a value is meant
 */
record Official(String owner, String value) {
  private static final String SCHEMA = "io.modelcontextprotocol.spec.McpSchema$";
  private static final List<String> RESULT = List.of("content", "structuredContent", "isError", "_meta");
  private static final List<String> PROMPT = List.of("messages", "description", "_meta");
  private static final List<String> READ = List.of("contents", "_meta");
  private static final Set<String> KINDS = Set.of("text", "image", "audio", "resource_link", "resource");

  /** Returns whether a class is part of the official SDK. */
  static boolean isOfficial(Class<?> type) {
    return type.getName().startsWith(SCHEMA);
  }

  /** Returns why values of a type cannot be results; null if they may be. */
  static String refusal(Class<?> type) {
    for (Class<?> each : List.of(byte[].class, BaseStream.class, java.util.Iterator.class, Future.class, Optional.class)) {
      if (each.isAssignableFrom(type)) {
        return each == byte[].class ? "a byte[], which has no kind: give Content.image, Content.audio or Content.embed of Content.contents"
            : each == BaseStream.class || each == java.util.Iterator.class ? "a " + type.getSimpleName() + ", which can be read once: give a List, as toList() makes it"
            : "a " + type.getSimpleName() + ": give the value in it";
      }
    }
    return isPublisher(type) ? "a " + type.getSimpleName() + " of Reactor: give its value, as block() returns it; the handler may block" : null;
  }

  /** Returns the value in a Future, for which it waits, or in an Optional; other values unchanged. */
  static Object settled(Object value) throws Exception {
    if (value instanceof Future<?> future) {
      return settled(future.get());
    }
    return value instanceof Optional<?> optional ? settled(optional.orElse(null)) : value;
  }

  private static boolean isPublisher(Class<?> type) {
    if (type == null) {
      return false;
    }
    boolean one = type.getName().equals("org.reactivestreams.Publisher") || isPublisher(type.getSuperclass());
    for (Class<?> parent : type.getInterfaces()) {
      one |= isPublisher(parent);
    }
    return one;
  }

  Failure fail(String why) {
    return new Failure(Reason.INTERNAL, owner + " returned " + why);
  }

  /** Returns the members of an object of the official SDK, or of a Map or an ObjectNode with one of the known members; null for other values. */
  private ObjectNode members(Object value, Collection<String> known) {
    boolean official = value != null && isOfficial(value.getClass());
    boolean map = value instanceof Map<?, ?> m && known.stream().anyMatch(m::containsKey);
    boolean node = value instanceof ObjectNode n && known.stream().anyMatch(n::has);
    if (!official && !map && !node) {
      return null;
    }
    return tree(value) instanceof ObjectNode object ? object : null;
  }

  private JsonNode tree(Object value) {
    try {
      return Json.MAPPER.valueToTree(value);
    } catch (IllegalArgumentException e) {
      throw fail("what cannot be encoded as JSON: " + e.getMessage());
    }
  }

  /** Returns the members of a result, after checking that each is known; null for values without any of them. */
  private ObjectNode whole(Object value, String result, List<String> known) {
    ObjectNode has = members(value, known);
    if (has == null) {
      return null;
    }
    has.remove("resultType");
    List<String> strays = new ArrayList<>();
    has.fieldNames().forEachRemaining(name -> {
      if (!known.contains(name)) {
        strays.add('"' + name + '"');
      }
    });
    if (!strays.isEmpty()) {
      throw fail("an object with " + String.join(", ", strays) + " beside members of a result of " + result + ", which has "
          + String.join(", ", known) + ": for a value, " + this.value);
    }
    return has;
  }

  private void fits(String result, ObjectNode has, String name, String kind, boolean fits) {
    if (has.hasNonNull(name) && !fits) {
      throw fail("an object whose \"" + name + "\" is, in a result of " + result + ", " + kind + ": write that, or, for a value, " + value);
    }
  }

  /** Converts a result of a tool; null for other values. */
  Result result(Object given) {
    ObjectNode has = whole(given, "a tool", RESULT);
    if (has == null || given != null && isOfficial(given.getClass()) && !given.getClass().getSimpleName().equals("CallToolResult")) {
      return null;
    }
    fits("a tool", has, "content", "a list of content", has.path("content").isArray());
    fits("a tool", has, "isError", "true or false", has.path("isError").isBoolean());
    fits("a tool", has, "_meta", "an object", has.path("_meta").isObject());
    List<Content> content = new ArrayList<>();
    for (JsonNode block : has.path("content")) {
      content.add(content(block));
    }
    Object structured = has.hasNonNull("structuredContent") ? new RawJson(has.get("structuredContent").toString()) : null;
    return new Result(content, structured, has.path("isError").asBoolean(), meta(has));
  }

  /** Converts content; null for other values. */
  Content contentOf(Object given) {
    if (given instanceof Content own) {
      return own;
    }
    if (given != null && isOfficial(given.getClass()) && given.getClass().getSimpleName().matches("(Text|Image|Audio)Content|EmbeddedResource|ResourceLink")) {
      ObjectNode block = (ObjectNode) tree(given);
      if (!block.has("type")) {
        String name = given.getClass().getSimpleName();
        block.put("type", name.equals("ResourceLink") ? "resource_link" : name.replaceAll("Content|Embedded", "").toLowerCase(java.util.Locale.ROOT));
      }
      return content(block);
    }
    return null;
  }

  private Content content(JsonNode block) {
    String kind = block.path("type").asText();
    if (!KINDS.contains(kind)) {
      throw fail("content of the type " + Json.quote(kind) + ", which MCP has not: write Content.raw to send it unchanged");
    }
    Annotations annotations = block.path("annotations").isObject() ? annotations(block.get("annotations")) : null;
    Map<String, Object> meta = meta(block);
    return switch (kind) {
      case "text" -> new TextContent(text(block, "text"), annotations, meta);
      case "image" -> new ImageContent(bytes(block, "data"), text(block, "mimeType"), annotations, meta);
      case "audio" -> new AudioContent(bytes(block, "data"), text(block, "mimeType"), annotations, meta);
      case "resource" -> new EmbeddedResource(contents(block.path("resource")), annotations, meta);
      default -> new ResourceLink(new Resource(text(block, "uri"), text(block, "name"), block.path("title").asText(""), block.path("description").asText(""),
          block.path("mimeType").asText(""), block.path("size").isNumber() ? block.get("size").asLong() : null, annotations, List.of(), meta));
    };
  }

  private ResourceContents contents(JsonNode has) {
    String uri = has.path("uri").asText("");
    String mimeType = has.path("mimeType").asText("");
    if (!has.hasNonNull("text") && !has.hasNonNull("blob")) {
      throw fail("contents of a resource with neither \"text\" nor \"blob\"");
    }
    return has.hasNonNull("text") ? new TextResourceContents(uri, mimeType, text(has, "text"), meta(has))
        : new BlobResourceContents(uri, mimeType, bytes(has, "blob"), meta(has));
  }

  /** Converts a result of a read; null for other values. */
  ReadResult read(Object given) {
    if (given != null && isOfficial(given.getClass()) && given.getClass().getSimpleName().matches("(Text|Blob)ResourceContents")) {
      return new ReadResult(List.of(contents(tree(given))));
    }
    ObjectNode has = whole(given, "a read", READ);
    if (has == null) {
      return null;
    }
    fits("a read", has, "contents", "a list", has.path("contents").isArray());
    List<ResourceContents> all = new ArrayList<>();
    has.path("contents").forEach(c -> all.add(contents(c)));
    return new ReadResult(all, meta(has));
  }

  /** Converts a result of a prompt; null for other values. */
  PromptResult prompt(Object given) {
    ObjectNode has = whole(given, "a prompt", PROMPT);
    if (has == null || !has.has("messages")) {
      return null;
    }
    fits("a prompt", has, "messages", "a list of messages", has.path("messages").isArray());
    List<PromptMessage> messages = new ArrayList<>();
    has.path("messages").forEach(m -> messages.add(message(m)));
    return new PromptResult(has.path("description").asText(""), messages, meta(has));
  }

  /** Converts a message of a prompt; content is a message of the user. Null for other values. */
  PromptMessage messageOf(Object given) {
    if (given instanceof PromptMessage own) {
      return own;
    }
    if (given instanceof String text) {
      return Content.user(Content.text(text));
    }
    if (given != null && isOfficial(given.getClass()) && given.getClass().getSimpleName().equals("PromptMessage")) {
      return message(tree(given));
    }
    Content content = contentOf(given);
    return content == null ? null : Content.user(content);
  }

  private PromptMessage message(JsonNode has) {
    String role = has.path("role").asText().toLowerCase(java.util.Locale.ROOT);
    if (!Set.of("user", "assistant").contains(role)) {
      throw fail("a message whose role is neither user nor assistant: " + Json.quote(has.path("role").asText()));
    }
    JsonNode content = has.path("content");
    return new PromptMessage(role.equals("user") ? Role.USER : Role.ASSISTANT, content.isTextual() ? Content.text(content.asText()) : content(content));
  }

  private String text(JsonNode has, String name) {
    if (!has.path(name).isTextual()) {
      throw fail("a result in which \"" + name + "\" is no text: " + Json.quote(has.path(name).toString()));
    }
    return has.get(name).asText();
  }

  private byte[] bytes(JsonNode has, String name) {
    try {
      return Base64.getDecoder().decode(text(has, name));
    } catch (IllegalArgumentException e) {
      throw fail("a result in which \"" + name + "\" is no base64");
    }
  }

  private static Annotations annotations(JsonNode has) {
    List<Role> audience = new ArrayList<>();
    has.path("audience").forEach(role -> audience.add(role.asText().equalsIgnoreCase("assistant") ? Role.ASSISTANT : Role.USER));
    return new Annotations(audience, has.path("priority").isNumber() ? has.get("priority").asDouble() : null, has.path("lastModified").asText(""));
  }

  private static Map<String, Object> meta(JsonNode has) {
    return has.path("_meta").isObject() ? Wire.object(has.get("_meta").toString()) : null;
  }
}
