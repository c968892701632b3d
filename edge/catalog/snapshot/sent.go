package snapshot

import (
	"maps"
	"slices"
)

// canonical compares the backend's own name of a tool or prompt.
func (c *comparison) canonical(before, after *Entry) {
	if old, now := before.ownName(), after.ownName(); old != now && before.Backend == after.Backend {
		c.add(Changes, "it is %q of its backend now, and was %q", now, old)
	}
}

func (e *Entry) ownName() string {
	if e.Canonical == "" {
		return e.Name
	}
	return e.Canonical
}

// sends compares the arguments that the edge adds to calls. It ignores an argument that callers saw
// and that is pinned now: the comparison of the schemas reports it as removed.
func (c *comparison) sends(before, after *Entry) {
	names := sentNames(before, after)
	for _, name := range names {
		old, now := before.sent(name), after.sent(name)
		switch {
		case now.pinned() && !old.pinned() && before.shows(name):
		case old.From != now.From && now.From != "":
			c.add(Breaks, "the argument %q is computed from the caller by %q, before %s: callers without a value are refused", name, now.From, old.how())
		case old.Value != now.Value && now.Value != "":
			if old.pinned() {
				c.add(Changes, "the argument %q is pinned to another value, before %s", name, old.how())
			} else {
				c.add(Changes, "the argument %q is pinned to a value", name)
			}
		case old.pinned() && !now.pinned():
			c.add(Changes, "the argument %q is not pinned any more, before %s", name, old.how())
		case textOf(old.Default) != textOf(now.Default):
			c.add(Changes, "the argument %q is sent by default as %s, before %s", name, textOf(now.Default), textOf(old.Default))
		}
	}
}

// sent returns the value that the edge sends for an argument. The zero Sent means that it sends
// none.
func (e *Entry) sent(name string) Sent {
	if i := slices.IndexFunc(e.Sends, func(s Sent) bool { return s.Argument == name }); i >= 0 {
		return e.Sends[i]
	}
	return Sent{}
}

// shows reports whether callers see an argument of a tool or prompt.
func (e *Entry) shows(name string) bool {
	shown := object(e.Shown)
	schema, _ := shown[inputSchema].(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	return properties[name] != nil || namedArguments(shown[arguments])[name] != nil
}

func (s *Sent) pinned() bool { return s.Value != "" || s.From != "" }

// how describes how an argument was sent.
func (s *Sent) how() string {
	switch {
	case s.From != "":
		return text(s.From)
	case s.Value != "":
		return "a fixed one"
	}
	return "the caller's own"
}

// sentNames returns the sorted names of the arguments that the edge adds in either entry.
func sentNames(before, after *Entry) (names []string) {
	for _, s := range slices.Concat(before.Sends, after.Sends) {
		names = append(names, s.Argument)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// withoutDefaults returns an input schema without the defaults of the named arguments. sends
// compares these.
func withoutDefaults(schema any, names []string) any {
	root, _ := schema.(map[string]any)
	properties, _ := root["properties"].(map[string]any)
	if len(properties) == 0 || len(names) == 0 {
		return schema
	}
	root, properties = maps.Clone(root), maps.Clone(properties)
	for _, name := range names {
		if argument, ok := properties[name].(map[string]any); ok {
			argument = maps.Clone(argument)
			delete(argument, "default")
			properties[name] = argument
		}
	}
	root["properties"] = properties
	return root
}

// textOf formats raw JSON for the text of a change.
func textOf(raw []byte) string {
	if len(raw) == 0 {
		return "absent"
	}
	value, _ := decode(raw)
	return text(value)
}

// maxResult compares the bounds of results. promised is true if the tool has an output schema: a
// longer structured result is then an error.
func (c *comparison) maxResult(before, after *Entry, promised bool) {
	old, now := before.MaxResultTokens, after.MaxResultTokens
	switch {
	case old == now:
	case now != 0 && (old == 0 || now < old) && promised:
		c.add(Breaks, "max-result was %s and is %s: longer structured results are errors", bound(old), bound(now))
	case now != 0 && (old == 0 || now < old):
		c.add(Changes, "max-result was %s and is %s: longer results are cut", bound(old), bound(now))
	default:
		c.add(Widens, "max-result was %s and is %s", bound(old), bound(now))
	}
}

func bound(tokens int) string {
	if tokens == 0 {
		return "absent"
	}
	return text(tokens) + " tokens"
}
