import io.mcpedge.capability.Capability;
import io.mcpedge.capability.Default;
import io.mcpedge.capability.Description;
import io.mcpedge.capability.ElicitResult;
import io.mcpedge.capability.Failure;
import io.mcpedge.capability.Limits;
import io.mcpedge.capability.Question;
import io.mcpedge.capability.Reason;
import io.mcpedge.capability.ToolOption;

/** Tools that may be tasks. */
final class TaskFixtures {
  private static final String ANY = """
      {"type":"object","properties":{"answer":{"type":"string","description":"Whatever there is to say"}}}""";

  record Greet(@Description("Whom to greet") String name) {}

  record Compute(
      @Description("How long to compute") @Limits(min = 0, max = 3600) double seconds,
      @Description("What the result is called") @Default("compute") String label) {}

  record Delete(@Description("The file to pretend to delete") String filename) {}

  private TaskFixtures() {}

  static void add(Capability s) {
    ToolOption optional = ToolOption.tasksOptional();
    ToolOption required = ToolOption.tasksRequired();
    ToolOption atOnce = ToolOption.tasksAtOnce();
    Everything.plain(s, "greet", "Greets at once, and is never a task", Greet.class, (call, in) -> "Hello, " + in.name() + "!");
    Everything.plain(s, "slow_compute", "Takes as long as its argument says, and may be a task", Compute.class, (call, in) -> {
      long began = System.nanoTime();
      double done = 0;
      while (done < in.seconds()) {
        call.progress(done, in.seconds(), "Computing " + in.label());
        Thread.sleep((long) (1000 * Math.min(1, in.seconds() - done)) + 1);
        done = (System.nanoTime() - began) / 1e9;
      }
      return in.label() + " was computed in " + in.seconds() + " s.";
    }, optional, atOnce);
    Everything.plain(s, "failing_job", "Fails after a second, as a task", call -> {
      Thread.sleep(1000);
      throw new Exception("the job failed, as it always does");
    }, required);
    Everything.plain(s, "protocol_error_job", "Ends with an error of the protocol, as a task", call -> {
      throw new Failure(Reason.INTERNAL, "the job broke, as it always does");
    }, required);
    Everything.plain(s, "confirm_delete", "Asks before it pretends to delete a file, as a task", Delete.class, (call, in) -> {
      ElicitResult r = call.askForm("confirm", "Delete " + in.filename() + "?", ANY);
      return in.filename() + (r.action() == ElicitResult.Action.ACCEPT ? " was deleted." : " was kept: " + r.action());
    }, optional, atOnce);
    Everything.plain(s, "multi_input", "Asks for a name and a color at once, as a task", call -> {
      var name = Question.formSchema("name", "What is your name?", ANY);
      var color = Question.formSchema("color", "Which color do you like?", ANY);
      call.askAll(name, color);
      return "Answers: " + AskingFixtures.answered(call.answer(name)) + "; " + AskingFixtures.answered(call.answer(color));
    }, optional, atOnce);
    Everything.plain(s, "test_tool_with_task", "Asks for a name first, and greets it as a task", call -> {
      String greeted = AskingFixtures.greeting(call.askForm("user_name", "What is your name?", AskingFixtures.NAME));
      call.defer();
      return greeted;
    }, required, ToolOption.tasksDeferred());
  }
}
