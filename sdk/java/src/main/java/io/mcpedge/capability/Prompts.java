package io.mcpedge.capability;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.mcpedge.v1.GetPromptResult;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Converts functions to prompts, and their values to results. */
final class Prompts {
  private Prompts() {}

  record Entry(io.mcpedge.v1.Prompt listed, Body body, Map<String, Complete.Completer> completers) {}

  interface Body {
    GetPromptResult run(Call call, Map<String, String> arguments) throws Exception;
  }

  static <A> Entry of(String name, String description, Class<A> arguments, ToolHandler<A, ?> handler, Complete... completes) {
    DefinitionException.unlessNamed("prompt", name, description);
    String what = "prompt " + name;
    ObjectNode schema = Schemas.closed(what, arguments);
    List<PromptArgument> taken = new ArrayList<>();
    for (var member : schema.path("properties").properties()) {
      if (!member.getValue().path("type").asText().equals("string")) {
        throw new DefinitionException(what + ": the argument " + member.getKey() + " must be a String, an enum or an Optional of them: prompts take text");
      }
      boolean required = schema.path("required").valueStream().anyMatch(r -> r.asText().equals(member.getKey()));
      taken.add(new PromptArgument(member.getKey(), member.getValue().path("description").asText(), required));
    }
    var read = new Arguments<>(arguments, schema);
    return raw(Prompt.builder().name(name).description(description).arguments(taken).build(), (call, given) -> handler.call(call, read.read(Json.encode(given))), completes);
  }

  static Entry raw(Prompt prompt, ToolHandler<Map<String, String>, ?> handler, Complete... completes) {
    String what = "prompt " + prompt.name();
    if (prompt.name().isEmpty()) {
      throw new DefinitionException("a prompt needs a name");
    }
    var known = prompt.arguments().stream().map(PromptArgument::name).toList();
    return new Entry(Wire.prompt(prompt), (call, given) -> {
      for (PromptArgument argument : prompt.arguments()) {
        if (argument.required() && !given.containsKey(argument.name())) {
          throw new Failure(Reason.INVALID_ARGUMENT, what + " needs the argument " + Json.quote(argument.name()));
        }
      }
      return result(prompt, Official.settled(handler.call(call, given)));
    }, Complete.of(what, known, completes));
  }

  private static GetPromptResult result(Prompt prompt, Object value) {
    Official official = new Official("prompt " + prompt.name(), "return a String");
    PromptResult converted = value instanceof PromptResult own ? own : official.prompt(value);
    if (converted != null) {
      PromptResult whole = converted;
      String description = whole.description().isEmpty() ? prompt.description() : whole.description();
      return GetPromptResult.newBuilder().setDescription(description).addAllMessages(whole.messages().stream().map(Wire::message).toList())
          .setMetaJson(Wire.meta(whole.meta())).build();
    }
    var out = GetPromptResult.newBuilder().setDescription(prompt.description());
    for (Object one : value instanceof List<?> list ? list : value == null ? List.of() : List.of(value)) {
      PromptMessage message = official.messageOf(one);
      if (message == null) {
        throw official.fail("a " + (one == null ? "null" : one.getClass().getSimpleName()) + ": return a String, a PromptMessage, a List of them, or a PromptResult");
      }
      out.addMessages(Wire.message(message));
    }
    if (out.getMessagesCount() == 0) {
      throw new Failure(Reason.INTERNAL, "prompt " + prompt.name() + " returned nothing");
    }
    return out.build();
  }
}
