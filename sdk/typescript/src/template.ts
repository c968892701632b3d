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
  /** The template with its literals in normal form, if it is another. */
  readonly #normal: UriTemplate | undefined;

  /** Throws when the template does not parse. */
  constructor(readonly template: string) {
    const parts = template.split(/(\{[^{}]*\})/);
    if (template === "" || parts.some((part, i) => i % 2 === 0 && /[{}]/.test(part))) {
      throw new TypeError(`${JSON.stringify(template)} is no RFC 6570 template`);
    }
    const literal = (text: string) => ({ pattern: new RegExp(escape(text), "uy"), separator: "" });
    this.#parts = parts.flatMap((part, i) => (i % 2 ? this.#expression(part) : literal(part)));
    const normal = parts.map((part, i) => (i % 2 ? part : encoded(i === 0 ? settled(part) : unescaped(part)))).join("");
    this.#normal = normal === template ? undefined : new UriTemplate(normal);
  }

  /**
   * The variables of a URI in any spelling, decoded (what is not UTF-8 then becomes U+FFFD); undefined: it does not match. One that is absent in
   * the URI is absent here. Each value is the longest with which what follows matches, as in the other libraries.
   */
  match(uri: string): Record<string, string> | undefined {
    for (const spelling of new Set([uri, settled(uri)])) {
      for (const template of [this, this.#normal]) {
        const found = template === undefined ? undefined : template.#find(spelling);
        if (found) return found;
      }
    }
    return undefined;
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

/** A URI with its scheme, and for http, https and file its host, in lower case, and without needless escapes (RFC 3986, section 6.2.2). */
const settled = (uri: string) =>
  unescaped(
    uri.replace(/^(?:(?:https?|file):\/\/[^/?#{]*|[a-z][a-z0-9+.-]*:)/i, (head) => unescaped(head).toLowerCase()),
  );

/** A text without escapes of unreserved characters, and with capitals in all others. */
const unescaped = (text: string) =>
  text.replace(/%([0-9A-Fa-f]{2})/g, (all, hex: string) => {
    const c = String.fromCharCode(parseInt(hex, 16));
    return /[A-Za-z0-9._~-]/.test(c) ? c : all.toUpperCase();
  });

/** A text with escapes in place of characters that a URI must not have. */
const encoded = (text: string) => text.replace(/[^A-Za-z0-9:/?#[\]@!$&'()*+,;=%._~{}-]+/gu, encodeURIComponent);

const escape = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&");
