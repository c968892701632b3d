package overlay

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Argument changes one argument of tools, or of prompts, whose arguments are texts.
type Argument struct {
	// Name is the name of a property of the tool's schema, or of an argument of the prompt.
	Name string
	// Pin is the value that is always sent. The argument is not shown, and callers cannot send it.
	// nil pins nothing.
	Pin Pin
	// Default is the value, as JSON, that is sent if a caller sends none. nil sends none. It has no
	// effect beside Pin.
	Default json.RawMessage
	// Description replaces that of the backend. Empty keeps it. It has no effect beside Pin.
	Description string
	// Place is the position in the settings of the entry that changes the argument.
	Place string
	// pinAt and defaultAt are the positions of the entries that set Pin and Default. Empty means
	// Place.
	pinAt, defaultAt string
	// types are the JSON types that the tool's schema accepts for the argument. nil accepts all.
	types []string
	// impossible is why the argument of a trial cannot be pinned; nil if it can.
	impossible error
}

// Value returns the value of a pinned argument for a caller. An error means that the caller has
// none: it is missing, empty, or of a type that the tool's schema does not accept.
func (a *Argument) Value(who *mcp.Principal) (json.RawMessage, error) {
	value, err := a.Pin.JSON(who)
	if err != nil {
		return nil, err
	}
	t := jsonrpc.TypeOf(value)
	switch text, _ := jsonrpc.Unquote(value); {
	case t == jsonrpc.Null:
		return nil, errors.New("it is null")
	case t == jsonrpc.String && text == "":
		return nil, errors.New("it is empty")
	case len(a.types) > 0 && !slices.ContainsFunc(a.types, func(name string) bool { return isType(value, name) }):
		return nil, fmt.Errorf("it is %s, and the tool takes %s", t, strings.Join(a.types, " or "))
	}
	return value, nil
}

// isType reports whether a JSON value has a type of JSON Schema.
func isType(value json.RawMessage, name string) bool {
	switch jsonrpc.TypeOf(value) {
	case jsonrpc.String:
		return name == "string"
	case jsonrpc.Bool:
		return name == "boolean"
	case jsonrpc.Number:
		return name == "number" || name == "integer" && !strings.ContainsAny(string(value), ".eE")
	case jsonrpc.Array:
		return name == "array"
	case jsonrpc.Object:
		return name == "object"
	}
	return false
}

// Adding returns the changes that add a value to calls: pinned arguments, and those with a default.
// Other changes, such as descriptions, only affect lists.
func Adding(arguments []Argument) (out []Argument) {
	for i := range arguments {
		if a := &arguments[i]; a.pinned() || a.Default != nil {
			out = append(out, *a)
		}
	}
	return out
}

// Texts returns copies of changes of a prompt's arguments, whose values are texts.
func Texts(arguments []Argument) []Argument {
	out := slices.Clone(arguments)
	for i := range out {
		out[i].types = []string{"string"}
	}
	return out
}

// Typed returns copies of changes of a tool's arguments that know the types of its schema.
func Typed(arguments []Argument, schema string) []Argument {
	if len(arguments) == 0 {
		return nil
	}
	out := slices.Clone(arguments)
	root := object(schema)
	properties := object(string(root.get("properties")))
	for i := range out {
		out[i].types = typesOf(object(string(properties.get(out[i].Name))).get("type"))
	}
	return out
}

// typesOf returns the names in the keyword type of a schema.
func typesOf(keyword json.RawMessage) (names []string) {
	if name, ok := jsonrpc.Unquote(keyword); ok {
		return []string{name}
	}
	_ = json.Unmarshal(keyword, &names) // Anything else restricts nothing here.
	return names
}

// Pin is the value of a pinned argument. It is safe for concurrent use.
type Pin interface {
	// String is equal for equal pins. It is not shown to clients.
	fmt.Stringer
	// JSON returns the value for a caller. An error means that the caller has none.
	JSON(who *mcp.Principal) (json.RawMessage, error)
}

// Fixed is a Pin with one value for all callers: compact JSON, not null.
type Fixed json.RawMessage

// String implements Pin.
func (f Fixed) String() string { return string(f) }

// JSON implements Pin.
func (f Fixed) JSON(*mcp.Principal) (json.RawMessage, error) { return json.RawMessage(f), nil }

// pinned reports whether callers may not send the argument.
func (a *Argument) pinned() bool { return a.Pin != nil }

// PinOf returns the pinned argument that a backend may read a member as, or nil.
func PinOf(arguments []Argument, member string) *Argument {
	for i := range arguments {
		if a := &arguments[i]; a.pinned() && SameMember(member, a.Name) {
			return a
		}
	}
	return nil
}

// fold returns what identifies the argument's changes in a digest.
func (a *Argument) fold() []string {
	pin := ""
	if a.Pin != nil {
		pin = "=" + a.Pin.String()
	}
	return []string{a.Name, pin, string(a.Default), a.Description}
}

func foldAll(arguments []Argument) (out [][]string) {
	for i := range arguments {
		out = append(out, arguments[i].fold())
	}
	return out
}

// mergeArguments adds to the changes of an entry those of one with less precedence.
func mergeArguments(first, second []Argument) []Argument {
	if len(first) == 0 || len(second) == 0 {
		return append(first, second...)
	}
	out := slices.Clone(first)
	for _, a := range second {
		at := slices.IndexFunc(out, func(b Argument) bool { return a.Name == b.Name })
		if at < 0 {
			out = append(out, a)
			continue
		}
		b := &out[at]
		if b.Pin == nil && a.Pin != nil {
			b.Pin, b.pinAt = a.Pin, a.Place
		}
		if b.Default == nil && a.Default != nil {
			b.Default, b.defaultAt = a.Default, a.Place
		}
		if b.Description == "" {
			b.Description = a.Description
		}
	}
	return out
}

// at returns the position of an entry that sets a field, or Place if it is empty.
func (a *Argument) at(field string) string { return cmp.Or(field, a.Place) }

// ArgumentError is the reason for which an argument cannot be changed.
type ArgumentError struct {
	// Place is the position in the settings of the entry that asks for the change.
	Place string
	Err   error
}

// ArgumentErrors are the changes of arguments of one tool or prompt that are impossible.
type ArgumentErrors []ArgumentError

// Error implements error.
func (e ArgumentErrors) Error() string {
	var texts []string
	for _, one := range e {
		texts = append(texts, one.Err.Error())
	}
	return strings.Join(texts, "; ")
}

// SameMember reports whether a backend may read a member as the argument with a name, or as a part
// of it. Decoders accept other cases, and protobuf's JSON mapping accepts snake_case for
// lowerCamelCase and the reverse. Binders of web frameworks also accept spaces, dots and brackets.
// A dot or a bracket begins a field or an element, as in tenant.id and tenant[0].
func SameMember(member, name string) bool {
	want := foldName(name)
	return member == name || foldName(member) == want || want != "" && beginsWithPart(member, want)
}

// beginsWithPart reports whether the folded form of a part of a member, up to a bracket or a dot, is
// want.
func beginsWithPart(member, want string) bool {
	rest := want
	for _, c := range member {
		if rest == "" && (c == '[' || c == '.') {
			return true
		}
		same := foldRune(c)
		if same < 0 {
			continue
		}
		next, there := strings.CutPrefix(rest, string(same))
		if !there {
			return false
		}
		rest = next
	}
	return false
}

// foldName returns the form in which members are compared: letters and digits alone, each letter
// replaced by the smallest of those that differ from it by case alone.
func foldName(name string) string { return strings.Map(foldRune, name) }

// foldRune returns the form of one character, or -1 if it is left out.
func foldRune(c rune) rune {
	if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
		return -1
	}
	c = unicode.ToLower(unicode.ToUpper(c)) // folds the dotless i, too, which has no simple folding
	least := c
	for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return least
}
