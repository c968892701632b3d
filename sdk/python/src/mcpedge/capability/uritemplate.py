"""URI templates (RFC 6570), read backwards: the variables of a URI."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([A-Za-z0-9_.,]+)\}")
_NO_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%,")
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_HEAD = re.compile(r"(?:https?|file)://[^/?#{]*|[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_RESERVED = _UNRESERVED | frozenset(":/?#[]@!$&'()*+;=")


@dataclass(frozen=True)
class Part:
    """A literal, which is all before and has no name, or a variable."""

    before: str
    name: str = ""
    allowed: frozenset[str] = frozenset()
    """The characters that a value may have."""
    may_lack: bool = False

    def start(self, uri: str, at: int) -> int | None:
        """Where the value begins, if the part is at a position. The first of a query that is there begins with the question mark."""
        if uri.startswith(self.before, at) or (self.may_lack and self.before[0] == "&" and uri.startswith("?" + self.before[1:], at)):
            return at + len(self.before)
        return None


@dataclass(frozen=True)
class Template:
    """A template of the levels 1 to 3: expressions with all operators, without the modifiers `*` and `:`."""

    variables: tuple[str, ...]
    _parts: tuple[Part, ...]
    _normal: "Template | None" = None
    """The template with its literals in normal form, if it is another."""

    @classmethod
    def parse(cls, text: str) -> "Template":
        """ValueError when it is no such template."""
        pieces = re.split(r"(\{[^{}]*\})", text)
        for i in range(0, len(pieces), 2):
            pieces[i] = quote(_settled(pieces[i]) if i == 0 else _unescaped(pieces[i]), safe=":/?#[]@!$&'()*+,;=%-._~{}")
        normal = "".join(pieces)
        variables, parts = cls._read(text)
        return cls(variables, parts, None if normal == text else cls(*cls._read(normal)))

    @staticmethod
    def _read(text: str) -> tuple[tuple[str, ...], tuple[Part, ...]]:
        parts: list[Part] = []
        names: list[str] = []
        end = 0
        for found in _EXPRESSION.finditer(text):
            parts.append(_literal(text[end : found.start()]))
            end = found.end()
            operator, expressed = found[1], found[2].split(",")
            named = operator in (";", "?", "&")
            first = operator.replace("+", "")
            between = "&" if operator == "?" else first.replace("#", "") or ","
            allowed = _RESERVED if operator in ("+", "#") else _UNRESERVED
            for i, name in enumerate(expressed):
                if not name or name in names:
                    raise ValueError(f"{found[0]} has a variable without a name, or one that comes twice")
                names.append(name)
                before = (between if i else first) + (f"{name}=" if named else "")
                # Commas and dots belong to a list's value, but where they end it.
                within = allowed - {between} if i + 1 < len(expressed) else allowed
                parts.append(Part(before, name, within, may_lack=named or first != "" or i > 0))
        return tuple(names), (*parts, _literal(text[end:]))

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables of a URI in any spelling, decoded, without those that it leaves out; None: it does not match. Each value is the longest, from
        the left, with which the rest matches, as in the other libraries. Takes time in proportion to the URI's length."""
        for spelling in dict.fromkeys((uri, _settled(uri))):
            for template in (self, self._normal):
                if template is not None and (found := template._find(spelling)) is not None:
                    return found
        return None

    def _find(self, uri: str) -> dict[str, str] | None:
        if not uri.startswith(self._parts[0].before) or _NO_ESCAPE.search(uri):
            return None
        places = range(len(uri) + 1)
        fits = [at == len(uri) for at in places]  # by position: whether the parts behind match from there on
        ends: list[list[int]] = []  # by part, from the last, and position: the longest value from there on so that what is behind fits, or -1
        for part in reversed(self._parts):
            longest = [at if fits[at] and "%" not in uri[max(0, at - 2) : at] else -1 for at in places]  # none ends within an escape
            for at in reversed(places[:-1]):
                if uri[at] in part.allowed and longest[at + 1] >= 0:
                    longest[at] = longest[at + 1]
            starts = (part.start(uri, at) for at in places)
            fits = [(s is not None and longest[s] >= 0) or (part.may_lack and fits[at]) for at, s in enumerate(starts)]
            ends.append(longest)
        if not fits[0]:
            return None
        values: dict[str, str] = {}
        at = 0
        for part, longest in zip(self._parts, reversed(ends), strict=True):
            start = part.start(uri, at)
            if start is not None and longest[start] >= 0:  # otherwise it lacks
                at = longest[start]
                values[part.name] = unquote(uri[start:at])
        values.pop("")  # of the literals
        return values


def _settled(uri: str) -> str:
    """A URI with its scheme, and for http, https and file its host, in lower case, and without needless escapes (RFC 3986, section 6.2.2)."""
    return _unescaped(_HEAD.sub(lambda head: _unescaped(head[0]).lower(), uri, count=1) if _HEAD.match(uri) else uri)


def _unescaped(text: str) -> str:
    """A text without escapes of unreserved characters, and with capitals in all others."""

    def plain(found: re.Match[str]) -> str:
        c = chr(int(found[1], 16))
        return c if c.isascii() and (c.isalnum() or c in "-._~") else found[0].upper()

    return _ESCAPE.sub(plain, text)


def _literal(text: str) -> Part:
    if "{" in text or "}" in text:
        raise ValueError(f"{text!r} has a brace that is of no expression; the modifiers * and : are not supported")
    return Part(text)
