package io.mcpedge.capability;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.mcpedge.v1.*;
import java.util.List;
import java.util.Map;

/** Makes prompts of functions. */
final class Prompts {
  private Prompts() {}

  record Entry(Prompt listed, Body body, Map<String, Complete.Completer> completers) {}

  interface Body {
    GetPromptResult run(Call call, Map<String, String> arguments) throws Exception;
  }

  static <A> Entry of(String name, String description, Class<A> arguments, ToolHandler<A, ?> handler, Complete... completes) {
    DefinitionException.unlessNamed("prompt", name, description);
    String what = "prompt " + name;
    ObjectNode schema = Schemas.ofArguments(what, arguments);
    Prompt.Builder prompt = Prompt.newBuilder().setName(name).setDescription(description);
    for (var member : schema.path("properties").properties()) {
      if (!member.getValue().path("type").asText().equals("string")) {
        throw new DefinitionException(what + ": the argument " + member.getKey() + " must be a String, an enum or an Optional of them: prompts take text");
      }
      boolean required = schema.path("required").valueStream().anyMatch(r -> r.asText().equals(member.getKey()));
      prompt.addArguments(PromptArgument.newBuilder().setName(member.getKey()).setRequired(required)
          .setDescription(member.getValue().path("description").asText()));
    }
    var read = new Arguments<>(arguments, schema);
    return raw(prompt.build(), (call, given) -> handler.call(call, read.read(Json.encode(given))), completes);
  }

  static Entry raw(Prompt prompt, ToolHandler<Map<String, String>, ?> handler, Complete... completes) {
    String what = "prompt " + prompt.getName();
    if (prompt.getName().isEmpty()) {
      throw new DefinitionException("a prompt needs a name");
    }
    var known = prompt.getArgumentsList().stream().map(PromptArgument::getName).toList();
    return new Entry(prompt, (call, given) -> {
      for (PromptArgument argument : prompt.getArgumentsList()) {
        if (argument.getRequired() && !given.containsKey(argument.getName())) {
          throw new Failure(Reason.INVALID_ARGUMENT, what + " needs the argument " + Json.quote(argument.getName()));
        }
      }
      return result(prompt, handler.call(call, given));
    }, Complete.of(what, known, completes));
  }

  private static GetPromptResult result(Prompt prompt, Object value) {
    if (value instanceof GetPromptResult whole) {
      return whole;
    }
    var out = GetPromptResult.newBuilder().setDescription(prompt.getDescription());
    for (Object one : value instanceof List<?> list ? list : value == null ? List.of() : List.of(value)) {
      if (one instanceof String text) {
        out.addMessages(Content.user(Content.text(text)));
      } else if (one instanceof PromptMessage message) {
        out.addMessages(message);
      } else {
        throw new Failure(Reason.INTERNAL, "prompt " + prompt.getName() + " returned something else than text, messages or a GetPromptResult");
      }
    }
    if (out.getMessagesCount() == 0) {
      throw new Failure(Reason.INTERNAL, "prompt " + prompt.getName() + " returned nothing");
    }
    return out.build();
  }
}
