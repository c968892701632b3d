import io.mcpedge.capability.Call;
import io.mcpedge.capability.Capability;
import io.mcpedge.capability.ElicitResult;
import io.mcpedge.capability.Failure;
import io.mcpedge.capability.InputRequired;
import io.mcpedge.capability.Question;
import io.mcpedge.capability.Reason;
import io.mcpedge.capability.Root;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;

/** The fixtures of the multi-round scenarios; their keys are the suite's. */
final class RoundFixtures {
  private static final String PREFIX = "test_input_required_result_";
  private static final String CAPITAL = "What is the capital of France?";
  private static final String CONFIRM = """
      {"type":"object","properties":{"ok":{"type":"boolean","description":"Whether to go on"}},"required":["ok"]}""";
  private static final String COLOR = """
      {"type":"object","properties":{"color":{"type":"string","description":"A color"}},"required":["color"]}""";

  record Color(String color) {}

  private RoundFixtures() {}

  static void add(Capability s) {
    Everything.plain(s, PREFIX + "elicitation", "Asks the user for a name",
        call -> AskingFixtures.greeting(call.answer(userName())));
    Everything.plain(s, PREFIX + "sampling", "Asks the client's model for a capital",
        call -> "Sampling result: " + call.sample("capital_question", CAPITAL, 100).text());
    Everything.plain(s, PREFIX + "list_roots", "Asks for the client's roots", call -> rootsText(call.roots("client_roots")));
    confirmed(s, "request_state", "Asks for a confirmation, and keeps a state meanwhile", "request-state:");
    confirmed(s, "tampered_state", "Asks for a confirmation, and keeps a state that must not be changed", "tamper-proof:");
    Everything.plain(s, PREFIX + "multiple_inputs", "Asks user, model and roots at once", call -> {
      if (call.state() == null) {
        call.setState(marked("multiple-inputs:"));
      }
      var name = userName();
      var hello = Question.sampling("greeting", "Generate a greeting", 50);
      var roots = Question.listRoots("client_roots");
      call.askAll(name, hello, roots);
      return String.join("\n", AskingFixtures.greeting(call.answer(name)), call.answer(hello).text(), rootsText(call.answer(roots)));
    });
    Everything.plain(s, PREFIX + "multi_round", "Asks the user twice, the second time knowing the first answer", RoundFixtures::twice);
    Everything.plain(s, PREFIX + "capabilities", "Asks whatever the client can answer", RoundFixtures::whatItCan);
  }

  private static Question<ElicitResult> userName() {
    return Question.formSchema("user_name", "What is your name?", AskingFixtures.NAME);
  }

  private static byte[] marked(String mark) {
    return (mark + UUID.randomUUID()).getBytes(StandardCharsets.UTF_8);
  }

  private static String rootsText(List<Root> roots) {
    return "Found " + roots.size() + " root(s): " + roots.stream().map(Root::uri).collect(Collectors.joining(", "));
  }

  /** Adds a tool that asks by InputRequired, and requires both the answer and its state. */
  private static void confirmed(Capability s, String name, String description, String mark) {
    Everything.plain(s, PREFIX + name, description, call -> {
      var confirm = Question.formSchema("confirm", "Please confirm", CONFIRM);
      if (call.state() == null) {
        throw new InputRequired(marked(mark), confirm);
      }
      if (!new String(call.state(), StandardCharsets.UTF_8).startsWith(mark)) {
        throw new Failure(Reason.INVALID_ARGUMENT, "the state is not the one this tool gave");
      }
      return "state-ok: the state came back, " + AskingFixtures.answered(call.answer(confirm));
    });
  }

  private static String twice(Call call) {
    call.setState(marked("round-1:"));
    ElicitResult first = call.askForm("step1", "Step 1: What is your name?", AskingFixtures.NAME);
    if (first.action() != ElicitResult.Action.ACCEPT) {
      return AskingFixtures.greeting(first);
    }
    call.setState(marked("round-2:"));
    String name = first.content().as(AskingFixtures.Name.class).name();
    ElicitResult second = call.askForm("step2", "Step 2: What is your favorite color, " + name + "?", COLOR);
    return AskingFixtures.greeting(first) + (second.action() == ElicitResult.Action.ACCEPT
        ? " Your favorite color is " + second.content().as(Color.class).color() + "."
        : " No color was given (" + second.action() + ").");
  }

  private static String whatItCan(Call call) {
    var can = call.clientCapabilities();
    var capital = Question.sampling("capital_question", CAPITAL, 100);
    var roots = Question.listRoots("client_roots");
    List<Question<?>> questions = new ArrayList<>();
    if (can.sampling()) {
      questions.add(capital);
    }
    if (can.form()) {
      questions.add(userName());
    }
    if (can.roots()) {
      questions.add(roots);
    }
    call.askAll(questions.toArray(Question[]::new));
    StringBuilder out = new StringBuilder("The client was asked " + questions.size() + " question(s).");
    for (Question<?> q : questions) {
      out.append('\n');
      out.append(q == capital ? call.answer(capital).text() : q == roots ? rootsText(call.answer(roots)) : AskingFixtures.greeting(call.answer(userName())));
    }
    return out.toString();
  }
}
