"""URI templates (RFC 6570), read backwards: the variables of a URI."""

import re
from dataclasses import dataclass
from urllib.parse import unquote

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([A-Za-z0-9_.,]+)\}")
_UNRESERVED = r"(?:[A-Za-z0-9\-._~]|%[0-9A-Fa-f]{2}|[^\x00-\x7f])*"
_RESERVED = r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2}|[^\x00-\x7f])*"


@dataclass(frozen=True)
class Template:
    """A template of the levels 1 to 3: expressions with all operators, without the modifiers `*` and `:`."""

    variables: tuple[str, ...]
    _pattern: re.Pattern[str]

    @classmethod
    def parse(cls, text: str) -> "Template":
        """ValueError when it is no such template."""
        groups: list[str] = []
        pattern, end = "", 0
        for found in _EXPRESSION.finditer(text):
            pattern += _literal(text[end : found.start()])
            end = found.end()
            operator = found[1]
            named = operator in (";", "?", "&")
            first = operator.replace("+", "")
            between = "&" if operator == "?" else first.replace("#", "") or ","
            value = _RESERVED if operator in ("+", "#") else _UNRESERVED.replace("._~", "_~") if operator == "." else _UNRESERVED
            parts: list[str] = []
            for i, name in enumerate(found[2].split(",")):
                if not name or name in groups:
                    raise ValueError(f"{found[0]} has a variable without a name, or one that comes twice")
                groups.append(name)
                # What is not defined is left out, with what is before it, where the operator says so.
                before = re.escape(between if i else first) + (re.escape(name) + "=?" if named else "")
                if found[1] == "?":
                    before = "[?&]" + re.escape(name) + "="
                part = f"{before}({value})"
                parts.append(f"(?:{part})?" if named else part)
            pattern += "".join(parts)
        pattern += _literal(text[end:])
        return cls(tuple(groups), re.compile(pattern))

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables of a URI, decoded, without those that it leaves out; None: it does not match."""
        found = self._pattern.fullmatch(uri)
        if found is None:
            return None
        return {name: unquote(v) for name, v in zip(self.variables, found.groups(), strict=True) if v is not None}


def _literal(text: str) -> str:
    if "{" in text or "}" in text:
        raise ValueError(f"{text!r} has a brace that is of no expression; the modifiers * and : are not supported")
    return re.escape(text)
