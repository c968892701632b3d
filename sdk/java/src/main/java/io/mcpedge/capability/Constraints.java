package io.mcpedge.capability;

import com.fasterxml.classmate.ResolvedType;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.victools.jsonschema.generator.FieldScope;
import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Constraints of Bean Validation, which are read by their names, as keywords of JSON Schema. One that has no keyword is refused, since
 * nothing would check it.
 */
final class Constraints {
  private static final List<String> PACKAGES = List.of("jakarta.validation.constraints.", "javax.validation.constraints.");
  private static final List<String> WHOLE = List.of("Integer", "Long", "Short", "Byte", "BigInteger", "int", "long", "short", "byte");

  private final ObjectNode node;
  private final Class<?> type;
  private final String component;

  private Constraints(ObjectNode node, Class<?> type, String component) {
    this.node = node;
    this.type = type;
    this.component = component;
  }

  /** Adds the keywords of a component's constraints, or of those of its items. */
  static void restrict(ObjectNode node, FieldScope field, ResolvedType type) {
    AnnotatedType declared = field.getRawMember().getAnnotatedType();
    List<AnnotatedType> within = declared instanceof AnnotatedParameterizedType p ? List.of(p.getAnnotatedActualTypeArguments()) : List.of();
    var to = new Constraints(node, type.getErasedType(), field.getName());
    boolean item = field.isFakeContainerItemScope();
    if (!item) {
      // Once each: an annotation of a component may be one of its type, too.
      Stream.concat(Stream.of(field.getRawMember().getAnnotations()), Stream.of(declared.getAnnotations())).distinct().forEach(to::add);
    }
    boolean list = !item && Collection.class.isAssignableFrom(to.type);
    if (!list) { // those of an Optional's value, or of an item
      boolean map = Map.class.isAssignableFrom(field.getDeclaredType().getErasedType());
      within.stream().flatMap(t -> Stream.of(t.getAnnotations())).forEach(a -> {
        if (map && is(a)) {
          throw to.refused(a, "the keys and values of a Map have no bounds; use a list of records");
        }
        to.add(a);
      });
    }
  }

  private static boolean is(Annotation annotation) {
    return PACKAGES.stream().anyMatch(annotation.annotationType().getName()::startsWith);
  }

  private void add(Annotation a) {
    if (!is(a)) {
      return;
    }
    if (Habits.member(a, "groups") instanceof Class<?>[] groups && groups.length > 0) {
      throw refused(a, "groups are not known; remove it, and check the value in the handler");
    }
    switch (a.annotationType().getSimpleName()) {
      case "NotNull" -> {} // as every component that may not be omitted
      case "NotEmpty" -> size(a, 1, Integer.MAX_VALUE);
      case "NotBlank" -> {
        only(a, CharSequence.class.isAssignableFrom(type), "a string");
        node.put("minLength", 1);
        pattern(a, "\\S");
      }
      case "Size" -> size(a, (int) Habits.member(a, "min"), (int) Habits.member(a, "max"));
      case "Min", "DecimalMin" -> bound(a, true, value(a), inclusive(a));
      case "Max", "DecimalMax" -> bound(a, false, value(a), inclusive(a));
      case "Positive" -> bound(a, true, BigDecimal.ZERO, false);
      case "PositiveOrZero" -> bound(a, true, BigDecimal.ZERO, true);
      case "Negative" -> bound(a, false, BigDecimal.ZERO, false);
      case "NegativeOrZero" -> bound(a, false, BigDecimal.ZERO, true);
      case "Pattern" -> {
        if (((Object[]) Habits.member(a, "flags")).length > 0) {
          throw refused(a, "JSON Schema has no flags; write them into the expression");
        }
        pattern(a, "^(?:" + Habits.member(a, "regexp") + ")$");
      }
      case "Email" -> {
        only(a, CharSequence.class.isAssignableFrom(type), "a string");
        node.put("format", "email");
      }
      default -> throw refused(a, "no keyword of JSON Schema says it; remove it, and check the value in the handler");
    }
  }

  private void size(Annotation a, int least, int most) {
    boolean string = CharSequence.class.isAssignableFrom(type);
    boolean list = Collection.class.isAssignableFrom(type) || type.isArray() && type != byte[].class;
    boolean map = Map.class.isAssignableFrom(type);
    only(a, string || list || map, "a string, a list or a Map; for bytes write @Limits(maxLength = …)");
    String of = string ? "Length" : list ? "Items" : "Properties";
    if (least > 0) {
      node.put("min" + of, Math.max(least, node.path("min" + of).asInt()));
    }
    if (most < Integer.MAX_VALUE) {
      node.put("max" + of, most);
    }
  }

  private void bound(Annotation a, boolean least, BigDecimal value, boolean inclusive) {
    boolean number = type.isPrimitive() ? type != boolean.class && type != char.class : Number.class.isAssignableFrom(type);
    only(a, number, "a number");
    boolean whole = WHOLE.contains(type.getSimpleName());
    BigDecimal bound = whole ? nearest(value, least, inclusive) : value;
    String keyword = inclusive || whole ? least ? "minimum" : "maximum" : least ? "exclusiveMinimum" : "exclusiveMaximum";
    if (bound.stripTrailingZeros().scale() <= 0) {
      node.put(keyword, bound.toBigInteger());
    } else {
      node.put(keyword, bound);
    }
  }

  /** Returns the least, or the greatest, whole number within a bound. */
  private static BigDecimal nearest(BigDecimal value, boolean least, boolean inclusive) {
    BigDecimal within = value.setScale(0, least ? RoundingMode.CEILING : RoundingMode.FLOOR);
    if (inclusive || within.compareTo(value) != 0) {
      return within;
    }
    return least ? within.add(BigDecimal.ONE) : within.subtract(BigDecimal.ONE);
  }

  private void pattern(Annotation a, String pattern) {
    only(a, CharSequence.class.isAssignableFrom(type), "a string");
    if (node.has("pattern")) {
      throw refused(a, "it is the second pattern; write one");
    }
    node.put("pattern", pattern);
  }

  private static BigDecimal value(Annotation a) {
    return new BigDecimal("" + Habits.member(a, "value"));
  }

  private static boolean inclusive(Annotation a) {
    return !a.annotationType().getSimpleName().startsWith("Decimal") || (boolean) Habits.member(a, "inclusive");
  }

  private void only(Annotation a, boolean fits, String of) {
    if (!fits) {
      throw refused(a, "it bounds " + of + ", and this is of " + type.getSimpleName());
    }
  }

  private DefinitionException refused(Annotation a, String why) {
    return new DefinitionException("@" + a.annotationType().getSimpleName() + " of " + component + ": " + why);
  }
}
