import { unescape } from "node:querystring";

/** A literal or a variable; the pattern captures the longest value of a variable. */
interface Part {
  pattern: RegExp;
  name?: string;
  /** The separator of a list's values; a comma replaces it. */
  separator: RegExp | string;
  mayLack?: boolean;
}

/** An RFC 6570 URI template that is matched against URIs. Variables of a query match in the order of the template only. */
export class UriTemplate {
  readonly variables: string[] = [];
  readonly #parts: Part[];

  /** Throws if the template is invalid. */
  constructor(readonly template: string) {
    const parts = template.split(/(\{[^{}]*\})/);
    if (template === "" || parts.some((part, i) => i % 2 === 0 && /[{}]/.test(part))) {
      throw new TypeError(`${JSON.stringify(template)} is no RFC 6570 template`);
    }
    // A brace stands for each expression between the literals, so that the scheme and the host of the whole template can be normalized.
    const literals = settled(parts.filter((_, i) => i % 2 === 0).join("{")).split("{");
    this.#parts = parts.flatMap((part, i) => (i % 2 ? this.#expression(part) : literal(literals[i / 2]!)));
  }

  /**
   * The variables of a URI in any spelling, decoded (invalid UTF-8 becomes U+FFFD); undefined if it does not match. One that is absent in
   * the URI is absent here. Each value is the longest with which the rest matches, as in the other libraries. A URI that matches as it is
   * spelled has the values of that.
   */
  match(uri: string): Record<string, string> | undefined {
    return /%(?![0-9A-Fa-f]{2})/.test(uri) ? undefined : (this.#find(uri) ?? this.#find(settled(uri)));
  }

  #find(uri: string): Record<string, string> | undefined {
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
      // Commas and dots are part of a list's value, unless they end it.
      const one = `(?:${i + 1 < all.length ? `(?!${separator})` : ""}(?:[${allowed}]|%[0-9A-Fa-f]{2}))*`;
      const more = modifier === "*" && /[/;&]/.test(separator) ? `(?:${separator}${prefix}${one})*` : "";
      // The first variable of a query that is present begins with the question mark.
      const before = (i === 0 ? escape(first) : separator).replace("&", "[?&]");
      return {
        pattern: new RegExp(`${before}${prefix}(${one}${more})`, "uy"),
        name,
        separator: more && named ? new RegExp(separator + prefix, "gu") : ",",
        mayLack: named || first !== "" || i > 0,
      };
    });
  }
}

/** Returns the part of a literal, unchanged or with escapes in place of characters that a URI must not have. */
function literal(text: string): Part {
  const escaped = text.replace(/[^A-Za-z0-9:/?#[\]@!$&'()*+,;=%._~-]+/gu, encodeURIComponent);
  return { pattern: new RegExp(`${escape(text)}|${escape(escaped)}`, "uy"), separator: "" };
}

/**
 * A URI with its scheme, and for http, https and file its host, in lower case, without escapes of unreserved characters, and with capitals in
 * all others (RFC 3986, section 6.2.2).
 */
function settled(uri: string): string {
  const lower = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  const plain = uri.replace(/^[A-Za-z][A-Za-z0-9+.-]*:/, lower);
  const host = /^((?:https?|file):\/\/(?:[^/?#]*@)?)([^/?#]*)/;
  return unescaped(plain.replace(host, (_, before: string, name: string) => before + lower(unescaped(name))));
}

const unescaped = (text: string) =>
  text.replace(/%([0-9A-Fa-f]{2})/g, (all, hex: string) => {
    const c = String.fromCharCode(parseInt(hex, 16));
    return /[A-Za-z0-9._~-]/.test(c) ? c : all.toUpperCase();
  });

const escape = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&");
