import io.mcpedge.capability.*;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import java.util.Map;
import java.util.TreeMap;

/** A tea house: a tool that asks its user and reports progress, a long one, a resource template and a prompt. */
public final class TeaHouse {
  static final Map<String, String> TEAS =
      new TreeMap<>(Map.of("assam", "strong and malty", "oolong", "between green and black", "sencha", "fresh and grassy"));
  static final String BASE = "tea://java/";

  enum Tea { assam, oolong, sencha }

  record Brew(Tea tea) {}

  record Cups(@Limits(min = 1, max = 5) int cups) {}

  record Brewed(Tea tea, int cups, String trace) {}

  record Steep(@Limits(min = 1) int minutes) {}

  record Steeped(int minutes) {}

  record Mood(@Description("How the guest feels") String mood) {}

  static Brewed brew(Call call, Brew in) throws InterruptedException {
    int cups;
    try { // the first round ends here: the user is asked, and the handler runs again with the answer
      cups = call.ask("cups", "How many cups of " + in.tea() + "?", Cups.class).cups();
    } catch (Unanswered e) {
      cups = 0;
    }
    for (int cup = 1; cup <= cups; cup++) {
      call.progress(cup, cups, "cup " + cup + " of " + cups);
      Thread.sleep(50);
    }
    return new Brewed(in.tea(), cups, Span.current().getSpanContext().getTraceId());
  }

  static Steeped steep(Call call, Steep in) throws InterruptedException {
    try {
      for (int minute = 1; minute <= in.minutes(); minute++) {
        call.progress(minute, in.minutes(), "minute " + minute + " of " + in.minutes());
        Thread.sleep(250);
      }
    } catch (InterruptedException e) { // when a task is cancelled, its call is, as any other
      System.out.println("steeping was cancelled");
      throw e;
    }
    return new Steeped(in.minutes());
  }

  static String tea(String name) {
    return TEAS.containsKey(name) ? name + " is " + TEAS.get(name) : null;
  }

  public static void main(String[] argv) {
    Capability house = new Capability("teahouse-java", "1.0.0")
        .telemetry(OpenTelemetrySdk.builder().setTracerProvider(SdkTracerProvider.builder().build()).build()) // add a span processor to export
        .tool("brew", "Brews as many cups as asked", Brew.class, Brewed.class, TeaHouse::brew)
        .tool("steep", "Steeps for minutes", Steep.class, Steeped.class, TeaHouse::steep, ToolOption.idempotent(), ToolOption.tasksOptional())
        .template(BASE + "{name}", "tea", "text/plain", (call, in) -> tea(in.get("name")), Complete.suggest("name", TEAS.keySet().toArray(String[]::new)))
        .prompt("recommend", "Recommends a tea", Mood.class,
            (call, in) -> "Recommend one of " + String.join(", ", TEAS.keySet()) + " to a guest who feels " + in.mood() + ".");
    TEAS.keySet().forEach(name -> house.resource(BASE + name, name, "text/plain", (call, uri) -> tea(name)));
    house.serve(argv);
  }
}
