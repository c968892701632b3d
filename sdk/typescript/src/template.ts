import { unescape } from "node:querystring";

/** A literal or a variable; the pattern captures the longest value of a variable. */
interface Part {
  pattern: RegExp;
  name?: string;
  /** What is between the values of a list; a comma comes in its place. */
  separator: RegExp | string;
  mayLack?: boolean;
}

/** An RFC 6570 URI template that is matched against URIs. Variables of a query match in the order of the template only. */
export class UriTemplate {
  readonly variables: string[] = [];
  readonly #parts: Part[];

  /** Throws when the template does not parse. */
  constructor(readonly template: string) {
    const parts = template.split(/(\{[^{}]*\})/);
    if (template === "" || parts.some((part, i) => i % 2 === 0 && /[{}]/.test(part))) {
      throw new TypeError(`${JSON.stringify(template)} is no RFC 6570 template`);
    }
    const literal = (text: string) => ({ pattern: new RegExp(escape(text), "uy"), separator: "" });
    this.#parts = parts.flatMap((part, i) => (i % 2 ? this.#expression(part) : literal(part)));
  }

  /**
   * The variables of a URI, decoded (what is not UTF-8 then becomes U+FFFD); undefined: it does not match. One that is absent in
   * the URI is absent here. Each value is the longest with which what follows matches, as in the other libraries.
   */
  match(uri: string): Record<string, string> | undefined {
    const values: Record<string, string> = {};
    const tried = new Map<string, number>(); // by a part and the end of its longest value: values from this end on lead nowhere
    const rest = (i: number, at: number): boolean => {
      const part = this.#parts[i];
      if (!part) return at === uri.length;
      part.pattern.lastIndex = at;
      const [all, longest = ""] = part.pattern.exec(uri) ?? [];
      if (all !== undefined) {
        const start = at + all.length - longest.length;
        const key = `${i} ${at + all.length}`;
        for (let end = tried.get(key) ?? at + all.length + 1; --end >= start; tried.set(key, end)) {
          // No value ends within an escape.
          if (uri.slice(Math.max(start, end - 2), end).includes("%") || !rest(i + 1, end)) continue;
          if (part.name) values[part.name] = unescape(uri.slice(start, end).replaceAll(part.separator, ","));
          return true;
        }
      }
      return part.mayLack === true && rest(i + 1, at);
    };
    return rest(0, 0) ? values : undefined;
  }

  #expression(expression: string): Part[] {
    const [, operator = "", list = ""] = /^\{([+#./;?&]?)([^]*)\}$/.exec(expression)!;
    const named = ";?&".includes(operator || "+");
    const first = operator.replace("+", "");
    const separator = escape(named && operator !== ";" ? "&" : first.replace("#", "") || ",");
    const allowed = `A-Za-z0-9._~,${operator === "+" || operator === "#" ? ":/?#[\\]@!$&'()*+;=" : ""}-`;
    return list.split(",").map((spec, i, all) => {
      const [, name, modifier] = /^([A-Za-z0-9_.%]+)(\*|:[1-9][0-9]{0,3})?$/.exec(spec) ?? [];
      if (!name || this.variables.includes(name)) {
        const why = name ? `has the variable ${name} twice: give each its own name` : "is no expression of RFC 6570";
        throw new TypeError(`${JSON.stringify(this.template)}: ${expression} ${why}`);
      }
      this.variables.push(name);
      const prefix = named ? `${escape(name)}=` : "";
      // Commas and dots belong to a list's value, but where they end it; the first of a query begins with the question mark.
      const one = `(?:${i + 1 < all.length ? `(?!${separator})` : ""}(?:[${allowed}]|%[0-9A-Fa-f]{2}))*`;
      const more = modifier === "*" && /[/;&]/.test(separator) ? `(?:${separator}${prefix}${one})*` : "";
      const before = operator === "?" ? "[?&]" : i === 0 ? escape(first) : separator;
      return {
        pattern: new RegExp(`${before}${prefix}(${one}${more})`, "uy"),
        name,
        separator: more && named ? new RegExp(separator + prefix, "gu") : ",",
        mayLack: named || first !== "" || i > 0,
      };
    });
  }
}

const escape = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&");
