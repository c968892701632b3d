package io.mcpedge.capability;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import io.mcpedge.capability.testing.TestClient;
import java.util.Currency;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Arguments within arguments. */
class ArgumentsTest {
  private final Capability s = new Capability("test", "1");

  record Point(int x) {}

  record Line(@Default("{\"x\":1}") Point from, Point to) {}

  record Points(Map<String, Line> lines, Shape shape, List<Shape> more) {}

  @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "kind")
  @JsonSubTypes({@JsonSubTypes.Type(value = Circle.class, name = "circle"), @JsonSubTypes.Type(value = Square.class, name = "square")})
  sealed interface Shape {}

  record Circle(@Default("7") int radius) implements Shape {}

  record Square(@Default("8") int side) implements Shape {}

  /** As in records: defaults, whole numbers such as 2.0, and what is missing. */
  @Test
  void valuesOfMapsAndOfInterfacesAreComplete() {
    s.tool("points", "", Points.class, (call, in) -> "" + in);
    try (var client = new TestClient(s)) {
      assertEquals("Points[lines={a=Line[from=Point[x=1], to=Point[x=2]]}, shape=Square[side=8], more=[Circle[radius=7], Square[side=3]]]",
          client.callTool("points", Json.tree("{\"lines\":{\"a\":{\"to\":{\"x\":2.0}}},\"shape\":{\"kind\":\"square\"},"
              + "\"more\":[{\"kind\":\"circle\"},{\"kind\":\"square\",\"side\":3.0}]}")).text());
      assertEquals("the argument \"lines.a.to\" is missing; it is required", client.callTool("points",
          Json.tree("{\"lines\":{\"a\":{}},\"shape\":{\"kind\":\"square\"},\"more\":[]}")).failure().getMessage());
    }
  }

  record Amount(Currency currency) {}

  @Test
  void aWrongTextIsSaid() {
    s.tool("amount", "", Amount.class, (call, in) -> "" + in);
    try (var client = new TestClient(s)) {
      assertEquals("the argument \"currency\" must be a Currency, not \"ABCD\"", client.callTool("amount", Map.of("currency", "ABCD")).failure().getMessage());
      assertEquals("the argument \"currency\" must be a string", client.callTool("amount", Map.of("currency", 1)).failure().getMessage());
    }
  }
}
