import io.mcpedge.capability.Capability;
import io.mcpedge.capability.Description;
import io.mcpedge.capability.ElicitResult;

/** Tools that ask. */
final class AskingFixtures {
  static final String NAME = """
      {"type":"object","properties":{"name":{"type":"string","description":"Your name"}},"required":["name"]}""";
  private static final String CONTACT = """
      {"type":"object","properties":{"username":{"type":"string","description":"User's response"},\
      "email":{"type":"string","description":"User's email address"}},"required":["username","email"]}""";
  private static final String DEFAULTS = """
      {"type":"object","properties":{"name":{"type":"string","description":"User name","default":"John Doe"},\
      "age":{"type":"integer","description":"User age","default":30},"score":{"type":"number","description":"User score","default":95.5},\
      "status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},\
      "verified":{"type":"boolean","description":"Verification status","default":true}},"required":[]}""";
  private static final String ENUMS = """
      {"type":"object","properties":{\
      "untitledSingle":{"type":"string","description":"Select one option","enum":["option1","option2","option3"]},\
      "titledSingle":{"type":"string","description":"Select one option with titles","oneOf":[{"const":"value1","title":"First Option"},\
      {"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},\
      "legacyEnum":{"type":"string","description":"Select one option (legacy)","enum":["opt1","opt2","opt3"],\
      "enumNames":["Option One","Option Two","Option Three"]},\
      "untitledMulti":{"type":"array","description":"Select multiple options","minItems":1,"maxItems":3,\
      "items":{"type":"string","enum":["option1","option2","option3"]}},\
      "titledMulti":{"type":"array","description":"Select multiple options with titles","minItems":1,"maxItems":3,\
      "items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},\
      {"const":"value3","title":"Third Choice"}]}}},"required":[]}""";

  record Prompt(@Description("The prompt to send to the model") String prompt) {}

  record Message(@Description("The message to show the user") String message) {}

  record Name(String name) {}

  private AskingFixtures() {}

  /** The action and the content of an answer. */
  static String answered(ElicitResult r) {
    return "action=" + r.action() + ", content=" + r.content();
  }

  static String greeting(ElicitResult r) {
    return r.action() == ElicitResult.Action.ACCEPT ? "Hello, " + r.content().as(Name.class).name() + "!" : "No name was given (" + r.action() + ").";
  }

  static void add(Capability s) {
    Everything.plain(s, "test_sampling", "Asks the client's model", Prompt.class,
        (call, in) -> "LLM response: " + call.sample("sampling", in.prompt(), 100).text());
    Everything.plain(s, "test_elicitation", "Asks the user for a name and an address", Message.class,
        (call, in) -> "User response: " + answered(call.askForm("contact", in.message(), CONTACT)));
    Everything.plain(s, "test_elicitation_sep1034_defaults", "Asks the user by a form with default values", call ->
        "Elicitation completed: " + answered(call.askForm("defaults", "Please review and update the form fields with defaults", DEFAULTS)));
    Everything.plain(s, "test_elicitation_sep1330_enums", "Asks the user by a form with every kind of choice", call ->
        "Elicitation completed: " + answered(call.askForm("enums", "Please select options from the enum fields", ENUMS)));
    Everything.plain(s, "test_streaming_elicitation", "Reports progress, then asks the user", call -> {
      call.progress(1, 2, "Before the question");
      ElicitResult r = call.askForm("user_name", "What is your name?", NAME);
      call.progress(2, 2, "After the answer");
      return "Elicitation completed: " + answered(r);
    });
    Everything.plain(s, "test_missing_capability", "Cannot do without the client's model",
        call -> "The client's model said: " + call.sample("needed", "Say something.", 100).text());
  }
}
