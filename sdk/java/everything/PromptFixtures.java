import io.mcpedge.capability.Capability;
import io.mcpedge.capability.Complete;
import io.mcpedge.capability.Content;
import io.mcpedge.capability.Description;
import io.mcpedge.capability.ElicitResult;
import java.util.List;

/** Prompts. */
final class PromptFixtures {
  record Two(@Description("First test argument") String arg1, @Description("Second test argument") String arg2) {}

  record Embedded(@Description("URI of the resource to embed") String resourceUri) {}

  private PromptFixtures() {}

  static void add(Capability s) {
    s.prompt("test_simple_prompt", "A text", call -> "This is a simple prompt for testing.");
    s.prompt("test_prompt_with_arguments", "A text with two arguments", Two.class,
        (call, in) -> "Prompt with arguments: arg1='" + in.arg1() + "', arg2='" + in.arg2() + "'",
        Complete.suggest("arg1", "paris", "park", "party"), Complete.suggest("arg2", "london", "lisbon"));
    s.prompt("test_prompt_with_embedded_resource", "An embedded resource and a text", Embedded.class, (call, in) -> {
      var contents = Content.contents(in.resourceUri(), "text/plain", "Embedded resource content for testing.");
      return List.of(Content.user(Content.embed(contents)), Content.user(Content.text("Please process the embedded resource above.")));
    });
    s.prompt("test_prompt_with_image", "An image and a text", call -> List.of(
        Content.user(Content.image(ContentFixtures.RED_PIXEL, "image/png")), Content.user(Content.text("Please analyze the image above."))));
    s.prompt("test_input_required_result_prompt", "A text that the user is asked about first", call -> {
      ElicitResult r = call.askForm("user_context", "What context should the prompt use?", ResourceFixtures.CONTEXT);
      return r.action() == ElicitResult.Action.ACCEPT
          ? "Prompt with context: " + r.content().as(ResourceFixtures.Context.class).context()
          : "Prompt without context (" + r.action() + ")";
    });
  }
}
