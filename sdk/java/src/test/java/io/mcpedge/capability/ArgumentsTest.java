package io.mcpedge.capability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import io.mcpedge.capability.testing.TestClient;
import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Email;
import jakarta.validation.constraints.Future;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotEmpty;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Positive;
import jakarta.validation.constraints.Size;
import java.time.LocalDate;
import java.util.Currency;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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

  /** Defaults, whole numbers such as 2.0 and missing members are handled as in records. */
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

  record Booking(@NotNull @NotBlank @Size(max = 40) String guest, @Min(1) @Max(9) int seats, @Positive Long room, @DecimalMax(value = "0.5", inclusive = false) double discount,
      @Pattern(regexp = "[A-Z]{2}") String country, @NotEmpty List<@Size(min = 2) String> dishes, Optional<@Email String> mail, @Size(max = 3) Map<String, String> notes) {}

  /** Annotations of Bean Validation are keywords of the schema. */
  @Test
  void beanValidationIsRead() {
    s.tool("book", "", Booking.class, (call, in) -> "");
    var schema = Schemas.closed("tool book", Booking.class).path("properties");
    assertEquals("{\"guest\":{\"type\":\"string\",\"minLength\":1,\"pattern\":\"\\\\S\",\"maxLength\":40},"
        + "\"seats\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9},\"room\":{\"type\":\"integer\",\"minimum\":1},"
        + "\"discount\":{\"type\":\"number\",\"exclusiveMaximum\":0.5},\"country\":{\"type\":\"string\",\"pattern\":\"^(?:[A-Z]{2})$\"},"
        + "\"dishes\":{\"minItems\":1,\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":2}},"
        + "\"mail\":{\"type\":\"string\",\"format\":\"email\"},"
        + "\"notes\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},\"maxProperties\":3}}", schema.toString());
  }

  record Between(@DecimalMin(value = "-1.5", inclusive = false) @DecimalMax(value = "2.5", inclusive = false) int excluded,
      @DecimalMin("-1.5") @DecimalMax("2.5") int included, @DecimalMin(value = "1", inclusive = false) @DecimalMax(value = "3.0", inclusive = false) int whole) {}

  /** The bounds of whole numbers are whole numbers. */
  @Test
  void boundsOfWholeNumbersAreWhole() {
    assertEquals("{\"excluded\":{\"type\":\"integer\",\"minimum\":-1,\"maximum\":2},\"included\":{\"type\":\"integer\",\"minimum\":-1,\"maximum\":2},"
        + "\"whole\":{\"type\":\"integer\",\"minimum\":2,\"maximum\":2}}", Schemas.closed("tool between", Between.class).path("properties").toString());
  }

  record Share(@Positive double part) {}

  @Test
  void boundsThatFormsDoNotHaveAreRefused() {
    var thrown = assertThrows(DefinitionException.class, () -> Question.form("share", "?", Share.class));
    assertEquals("member part of a form: no client knows a bound that is excluded; use @Min and @Max, or @Limits", thrown.getMessage());
    assertEquals("{\"type\":\"integer\",\"minimum\":1,\"maximum\":9}", Json.tree(
        Question.form("seats", "?", Seats.class).request.getElicitForm().getRequestedSchemaJson()).at("/properties/seats").toString());
  }

  record Seats(@Min(1) @Max(9) int seats) {}

  record Later(@Future LocalDate day) {}

  record Sized(@Size(max = 3) int count) {}

  record Cased(@Pattern(regexp = "a", flags = Pattern.Flag.CASE_INSENSITIVE) String text) {}

  record Grouped(@NotBlank(groups = Later.class) String text) {}

  record Keyed(Map<@NotBlank String, String> all) {}

  /** What nothing would check. */
  @Test
  void beanValidationThatNoSchemaSaysIsRefused() {
    for (var refused : Map.of(Later.class, "tool t: @Future of day: no keyword of JSON Schema says it; remove it, and check the value in the handler",
        Sized.class, "tool t: @Size of count: it bounds a string, a list or a Map; for bytes write @Limits(maxLength = …), and this is of int",
        Cased.class, "tool t: @Pattern of text: JSON Schema has no flags; write them into the expression",
        Grouped.class, "tool t: @NotBlank of text: groups are not known; remove it, and check the value in the handler",
        Keyed.class, "tool t: @NotBlank of all: the keys and values of a Map have no bounds; use a list of records").entrySet()) {
      var thrown = assertThrows(DefinitionException.class, () -> s.tool("t", "", refused.getKey(), (call, in) -> ""));
      assertEquals(refused.getValue(), thrown.getMessage().replaceFirst("^.*?(tool t)", "$1"));
    }
  }
}
