/** An RFC 6570 URI template that is matched against URIs. Variables of a query match in the order of the template only. */
export class UriTemplate {
  readonly variables: string[] = [];
  readonly #pattern: RegExp;
  readonly #groups: { name: string; explode: boolean; named: boolean }[] = [];

  /** Throws when the template does not parse. */
  constructor(readonly template: string) {
    const parts = template.split(/(\{[^{}]*\})/);
    const pattern = parts.map((part, i) => (i % 2 ? this.#expression(parts.slice(i, i + 3)) : escape(part)));
    if (template === "" || parts.some((part, i) => i % 2 === 0 && /[{}]/.test(part))) {
      throw new TypeError(`${JSON.stringify(template)} is no RFC 6570 template`);
    }
    this.#pattern = new RegExp(`^${pattern.join("")}$`, "u");
  }

  /** The variables of a URI, decoded; undefined: it does not match. One that is absent in the URI is absent here. */
  match(uri: string): Record<string, string> | undefined {
    const found = this.#pattern.exec(uri);
    if (!found) return undefined;
    const variables: Record<string, string> = {};
    try {
      this.#groups.forEach(({ name, explode, named }, i) => {
        const raw = found[i + 1];
        if (raw === undefined) return;
        const value = explode && named ? raw.replaceAll(new RegExp(`[;&]${escape(name)}=`, "gu"), ",") : raw;
        variables[name] = decodeURIComponent(value);
      });
    } catch {
      return undefined; // an escape that is not UTF-8
    }
    return variables;
  }

  /** The pattern of an expression, behind which there are a literal and maybe another expression. */
  #expression([expression = "", literal = "", next]: string[]): string {
    const [, operator = "", list = ""] = /^\{([+#./;?&]?)([^]*)\}$/.exec(expression)!;
    const named = ";?&".includes(operator || "+");
    const first = "+#".includes(operator) ? operator.replace("+", "") : operator;
    const separator = named && operator !== ";" ? "&" : first.replace("#", "") || ",";
    const allowed = operator === "+" || operator === "#" ? "[^?#\\s]" : "(?:[A-Za-z0-9_.~-]|%[0-9A-Fa-f]{2})";
    const specs = list.split(",");
    const variables = specs.map((spec, i) => {
      const parsed = /^([A-Za-z0-9_.%]+)(\*|:[1-9][0-9]{0,3})?$/.exec(spec);
      if (!parsed) throw new TypeError(`${JSON.stringify(this.template)}: ${expression} is no expression of RFC 6570`);
      const [, name = "", modifier] = parsed;
      const explode = modifier === "*";
      if (this.variables.includes(name)) {
        throw new TypeError(`${JSON.stringify(this.template)} has the variable ${name} twice: give each its own name`);
      }
      this.variables.push(name);
      this.#groups.push({ name, explode, named });
      // Commas belong to a list's value, and so do dots: no two parts may match the same, or matching takes for ever.
      // So a value ends at the first of what is behind it, where what follows could have the rest as well.
      const [end, follower] = i + 1 < specs.length ? [separator, expression] : [literal, next];
      const kind = follower && /^\{([+#./;?&]?)/.exec(follower)![1];
      const ends = "+".includes(operator) && (kind === "+" || kind === operator);
      const one = `(?:${ends ? `(?!${escape(end)})` : ""}(?:${allowed}|,))*?`;
      const prefix = named ? `${escape(name)}=?` : "";
      const more = explode && "/;&".includes(separator) ? `(?:${escape(separator)}${prefix}${one})*?` : "";
      return `(?:${escape(i === 0 ? first : separator)}${prefix}(${one}${more}))${named || first !== "" || i > 0 ? "?" : ""}`;
    });
    return variables.join("");
  }
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&");
}
