"""URI templates (RFC 6570), matched to extract the variables of a URI."""

import re
from dataclasses import dataclass
from itertools import zip_longest
from urllib.parse import quote, unquote

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([A-Za-z0-9_.]+(?:,[A-Za-z0-9_.]+)*)\}")
_NO_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")
_HOST = re.compile("((?:https?|file)://(?:[^/?#]*@)?)([^/?#]*)")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%,")
_RESERVED = _UNRESERVED | frozenset(":/?#[]@!$&'()*+;=")


@dataclass(frozen=True)
class Part:
    """A literal, which has no name, or a variable."""

    before: tuple[str, ...]
    """The alternative spellings of the beginning of the part. A URI has one of them."""
    name: str = ""
    allowed: frozenset[str] = frozenset()
    """The characters that a value may have."""
    may_lack: bool = False

    def start(self, uri: str, at: int) -> int | None:
        """Returns the start of the value if the part begins at a position, otherwise None."""
        return next((at + len(before) for before in self.before if uri.startswith(before, at)), None)


@dataclass(frozen=True)
class Template:
    """A template of the levels 1 to 3: expressions with all operators, without the modifiers `*` and `:`."""

    variables: tuple[str, ...]
    _parts: tuple[Part, ...]

    @classmethod
    def parse(cls, text: str) -> "Template":
        """Parses a template. Raises ValueError if it is invalid."""
        pieces = re.split(r"(\{[^{}]*\})", text)
        if any("{" in literal or "}" in literal for literal in pieces[::2]):
            raise ValueError(f"{text!r} has a brace that is of no expression")
        # Between literals, which have no braces, one stands for each expression: a scheme and a host are known in the whole only.
        literals = _settled("{".join(pieces[::2])).split("{")
        parts: list[Part] = []
        for literal, expression in zip_longest(literals, pieces[1::2]):
            parts.append(Part((literal, quote(literal, safe="".join(_RESERVED)))))
            if expression:
                parts += _variables(expression)
        names = tuple(part.name for part in parts if part.name)
        if len(set(names)) < len(names):
            raise ValueError(f"{text!r} has a variable that comes twice")
        return cls(names, tuple(parts))

    def match(self, uri: str) -> dict[str, str] | None:
        """Returns the decoded variables of a URI in any spelling, without those that the URI omits, or None if it does not match. Each
        value is the longest, from the left, with which the rest matches, as in the other libraries. If the URI matches without
        normalization, the values are those of that match. Takes time in proportion to the URI's length."""
        if _NO_ESCAPE.search(uri):
            return None
        found = self._find(uri)
        return self._find(_settled(uri)) if found is None else found

    def _find(self, uri: str) -> dict[str, str] | None:
        if self._parts[0].start(uri, 0) is None:  # most URIs differ here
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


def _variables(expression: str) -> list[Part]:
    """Returns the parts of an expression."""
    found = _EXPRESSION.fullmatch(expression)
    if not found:
        raise ValueError(f"{expression} is no expression of names; the modifiers * and : are not supported")
    operator, names = found[1], found[2].split(",")
    named = operator in (";", "?", "&")
    first = operator.replace("+", "")
    between = "&" if operator == "?" else first.replace("#", "") or ","
    allowed = _RESERVED if operator in ("+", "#") else _UNRESERVED
    parts: list[Part] = []
    for i, name in enumerate(names):
        before = (between if i else first) + (f"{name}=" if named else "")
        # The first of a query that is there begins with the question mark.
        spellings = (before, before.replace("&", "?"))
        # Commas and dots belong to a list's value, but where they end it.
        within = allowed - {between} if i + 1 < len(names) else allowed
        parts.append(Part(spellings, name, within, may_lack=named or first != "" or i > 0))
    return parts


def _settled(uri: str) -> str:
    """A URI with its scheme, and for http, https and file its host, in lower case, without escapes of unreserved characters, and with capitals in
    all others (RFC 3986, section 6.2.2)."""
    if scheme := _SCHEME.match(uri):
        uri = scheme[0].lower() + uri[scheme.end() :]
    if host := _HOST.match(uri):
        uri = host[1] + _unescaped(host[2]).encode().lower().decode() + uri[host.end() :]  # of bytes, as letters beyond ASCII differ
    return _unescaped(uri)


def _unescaped(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        c = chr(int(found[1], 16))
        return c if c.isascii() and (c.isalnum() or c in "-._~") else found[0].upper()

    return _ESCAPE.sub(plain, text)
