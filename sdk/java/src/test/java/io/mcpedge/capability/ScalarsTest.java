package io.mcpedge.capability;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.databind.JsonNode;
import io.mcpedge.capability.testing.TestClient;
import java.io.File;
import java.math.BigDecimal;
import java.net.URL;
import java.nio.file.Path;
import java.time.Period;
import java.time.Year;
import java.time.YearMonth;
import java.time.ZoneId;
import java.util.Currency;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TimeZone;
import org.junit.jupiter.api.Test;

/** Schemas of types that Jackson reads from one value: they admit what Jackson reads and writes. */
class ScalarsTest {
  enum State {
    SENT,
    @JsonProperty("here") ARRIVED,
    LOST {
      @Override
      public String toString() {
        return "gone";
      }
    }
  }

  enum Grade {
    @JsonProperty("1") FIRST,
    SECOND;

    @JsonValue
    String text() {
      return name().substring(0, 1);
    }
  }

  record States(State one, List<State> list, EnumSet<State> set, Optional<Grade> grade) {}

  record Counts(EnumMap<State, Integer> counts) {}

  record Times(Year year, YearMonth month, Period period, ZoneId zone, TimeZone old) {}

  record Names(Locale locale, Currency currency, Path path, File file, URL url) {}

  record Id(@JsonValue String text) {
    @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
    Id {}
  }

  record Price(@JsonValue BigDecimal amount) {
    @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
    Price {}
  }

  record Parcel(@Description("Which") Id id, Price price, List<Id> others) {}

  private static void same(String expected, JsonNode schema) {
    assertEquals(Json.tree(expected), schema);
  }

  /** Verifies that the JSON that Jackson writes fits the schema, and that Jackson reads it. */
  private static <T> void roundTrip(Class<T> type, String arguments) {
    var s = new Capability("test", "1").tool("t", "", type, type, (call, in) -> in);
    try (var client = new TestClient(s)) {
      assertEquals(Json.tree(arguments), Json.tree(client.callTool("t", Json.tree(arguments)).structured().text()));
    }
    assertEquals(null, new Rules(Schemas.of("t", type, false)).misfit(arguments));
  }

  @Test
  void constantsAreSpelledAsJacksonDoes() {
    for (boolean output : new boolean[] {false, true}) {
      same("{'type':'string','enum':['SENT','here','LOST']}".replace('\'', '"'), Schemas.of("t", State.class, output));
      same("{'type':'string','enum':['F','S']}".replace('\'', '"'), Schemas.of("t", Grade.class, output));
    }
    roundTrip(States.class, "{'one':'here','list':['LOST'],'set':['SENT','here'],'grade':'S'}".replace('\'', '"'));
  }

  @Test
  void constantsAreKeys() {
    var s = new Capability("test", "1").tool("t", "", Counts.class, (call, in) -> in);
    try (var client = new TestClient(s)) {
      assertEquals("{\"counts\":{\"here\":1}}", client.callTool("t", Map.of("counts", Map.of("here", 1))).structured().text());
    }
  }

  @Test
  void aWrongConstantGetsTheNamesThatAreRead() {
    record In(State state) {}

    var s = new Capability("test", "1").tool("t", "", In.class, (call, in) -> "");
    try (var client = new TestClient(s)) {
      assertEquals("the argument \"state\" must be one of [\"SENT\",\"here\",\"LOST\"]", client.callTool("t", Map.of("state", "ARRIVED")).failure().getMessage());
    }
  }

  @Test
  void textsAreStrings() {
    same("{'type':'string'}".replace('\'', '"'), Schemas.of("t", Names.class, false).at("/properties/path"));
    roundTrip(Names.class, "{'locale':'de_CH','currency':'CHF','path':'file:///a','file':'/a','url':'https://a.example/'}".replace('\'', '"'));
    roundTrip(Times.class, "{'year':'2026','month':'2026-11','period':'P1D','zone':'Europe/Zurich','old':'UTC'}".replace('\'', '"'));
  }

  /** A record around one value, which Jackson reads and writes as that value. */
  @Test
  void aRecordAroundAValueIsTheValue() {
    for (boolean output : new boolean[] {false, true}) {
      JsonNode members = Schemas.of("t", Parcel.class, output).get("properties");
      same("{'id':{'type':'string','description':'Which'},'price':{'type':'number'},'others':{'type':'array','items':{'type':'string'}}}".replace('\'', '"'), members);
    }
    roundTrip(Parcel.class, "{'id':'a','price':1.5,'others':['b']}".replace('\'', '"'));
  }
}
