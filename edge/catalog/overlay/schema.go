package overlay

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// argumentSchema returns the schema of a tool's arguments for clients: without pinned arguments,
// and with the defaults and descriptions of the others. The error names the argument that cannot be
// changed, and the reason.
func argumentSchema(text string, arguments []Argument) (string, error) {
	root := object(text)
	if root == nil {
		return "", errors.New("its schema is not an object")
	}
	properties := object(string(root.get("properties")))
	var errs ArgumentErrors
	for i := range arguments {
		if place, err := arguments[i].changeIn(root, properties); err != nil {
			errs = append(errs, ArgumentError{place, err})
		}
	}
	if len(errs) > 0 {
		return "", errs
	}
	properties = slices.DeleteFunc(properties, func(m member) bool {
		return slices.ContainsFunc(arguments, func(a Argument) bool { return a.pinned() && a.Name == m.name })
	})
	root.set("properties", properties.text())
	for i := range arguments {
		if a := &arguments[i]; a.pinned() && refersTo(root.text(), a.Name) {
			return "", ArgumentErrors{{a.at(a.pinAt), fmt.Errorf("its argument %q cannot be taken out of its schema, which refers to it", a.Name)}}
		}
	}
	required := []string{}
	if err := json.Unmarshal(root.get("required"), &required); err != nil && root.get("required") != nil {
		return "", errors.New("the keyword required of its schema is not a list of names")
	}
	required = slices.DeleteFunc(required, func(name string) bool {
		return slices.ContainsFunc(arguments, func(a Argument) bool { return a.Name == name && (a.pinned() || a.Default != nil) })
	})
	if len(required) == 0 {
		root.remove("required")
	} else {
		raw, _ := json.Marshal(required)
		root.set("required", raw)
	}
	for i := range arguments {
		for _, keyword := range []string{"default", "examples"} { // These may reveal a value.
			if arguments[i].pinned() && mentions(root.get(keyword), arguments[i].Name) {
				root.remove(keyword)
			}
		}
	}
	return string(root.text()), nil
}

// changeIn changes the argument's property in a tool's schema. If that is impossible, it returns
// the reason, and the place of the entry that asks for it. It does not remove pinned arguments.
func (a *Argument) changeIn(root, properties members) (place string, err error) {
	at := properties.index(a.Name)
	if at < 0 {
		return a.Place, fmt.Errorf("it has no argument %q", a.Name)
	}
	for _, m := range properties {
		if a.pinned() && m.name != a.Name && SameMember(m.name, a.Name) {
			return a.at(a.pinAt), fmt.Errorf("its arguments %q and %q cannot be distinguished: some backends read one as the other", a.Name, m.name)
		}
	}
	types := typesOf(object(string(properties[at].value)).get("type"))
	fixed, _ := a.Pin.(Fixed)
	if err := a.misfit("value", json.RawMessage(fixed), types); err != nil {
		return a.at(a.pinAt), err
	}
	if err := a.misfit("default", a.Default, types); err != nil {
		return a.at(a.defaultAt), err
	}
	if a.pinned() {
		if keyword := root.over(a.Name); keyword != "" {
			return a.at(a.pinAt), fmt.Errorf("its argument %q cannot be taken out of its schema, which has the keyword %q", a.Name, keyword)
		}
		return "", nil
	}
	properties[at].value, err = a.describe(properties[at].value)
	return a.Place, err
}

// misfit returns an error if the argument's fixed value or default has none of the types of a
// schema. what names the value in the error. No types accept all values.
func (a *Argument) misfit(what string, value json.RawMessage, types []string) error {
	if value != nil && len(types) > 0 && !slices.ContainsFunc(types, func(name string) bool { return isType(value, name) }) {
		return fmt.Errorf("the %s of its argument %q is %s, and the schema takes %s", what, a.Name, jsonrpc.TypeOf(value), strings.Join(types, " or "))
	}
	return nil
}

// refersTo reports whether a schema has a reference to a property of its root.
func refersTo(schema json.RawMessage, name string) (found bool) {
	switch jsonrpc.TypeOf(schema) {
	case jsonrpc.Array:
		jsonrpc.Elements(schema, func(one json.RawMessage) bool {
			found = refersTo(one, name)
			return !found
		})
	case jsonrpc.Object:
		_ = jsonrpc.Members(schema, func(key string, one json.RawMessage) error {
			text, isText := jsonrpc.Unquote(one)
			if isText && (key == "$ref" || key == "$dynamicRef") {
				found = found || text == "#" || strings.Contains(text, "/properties/"+name)
			}
			found = found || refersTo(one, name)
			return nil
		})
	}
	return found
}

// describe returns the schema of a property with the argument's default and description.
func (a *Argument) describe(schema json.RawMessage) (json.RawMessage, error) {
	o := object(string(schema))
	if o == nil {
		return nil, fmt.Errorf("the schema of its argument %q is not an object", a.Name)
	}
	if a.Default != nil {
		o.set("default", a.Default)
	}
	if a.Description != "" {
		o.set("description", jsonrpc.AppendString(nil, a.Description))
	}
	return o.text(), nil
}

// over returns the keyword of a schema that prevents the removal of a property, or an empty text.
// Such a keyword counts or enumerates properties, or applies another schema that may refer to the
// property.
func (o members) over(name string) string {
	for _, m := range o {
		switch m.name {
		case "$ref", "$dynamicRef", "const", "enum", "minProperties", "maxProperties":
			return m.name
		case "propertyNames", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies":
			if mentions(m.value, name) || mentions(m.value, "$ref") || mentions(m.value, "$dynamicRef") {
				return m.name
			}
		}
	}
	return ""
}

// mentions reports whether a JSON value has a member with a name, or a string that is the name, at
// any depth.
func mentions(value json.RawMessage, name string) (found bool) {
	switch jsonrpc.TypeOf(value) {
	case jsonrpc.String:
		text, _ := jsonrpc.Unquote(value)
		return text == name
	case jsonrpc.Array:
		jsonrpc.Elements(value, func(one json.RawMessage) bool {
			found = mentions(one, name)
			return !found
		})
	case jsonrpc.Object:
		_ = jsonrpc.Members(value, func(key string, one json.RawMessage) error {
			found = found || key == name || mentions(one, name)
			return nil
		})
	}
	return found
}

// members are the members of a JSON object, in their order.
type members []member

type member struct {
	name  string
	value json.RawMessage
}

// object returns the members of a JSON object. It returns nil for any other text, and for an object
// with duplicate names.
func object(text string) members {
	out, seen := members{}, map[string]bool{}
	if err := jsonrpc.Members([]byte(text), func(name string, value json.RawMessage) error {
		if seen[name] {
			return errors.New("repeated")
		}
		seen[name] = true
		out = append(out, member{name, value})
		return nil
	}); err != nil {
		return nil
	}
	return out
}

func (o members) index(name string) int {
	return slices.IndexFunc(o, func(m member) bool { return m.name == name })
}

// get returns the value of a member, or nil.
func (o members) get(name string) json.RawMessage {
	if i := o.index(name); i >= 0 {
		return o[i].value
	}
	return nil
}

// set replaces or adds a member.
func (o *members) set(name string, value json.RawMessage) {
	if i := o.index(name); i >= 0 {
		(*o)[i].value = value
		return
	}
	*o = append(*o, member{name, value})
}

func (o *members) remove(name string) {
	*o = slices.DeleteFunc(*o, func(m member) bool { return m.name == name })
}

func (o members) text() json.RawMessage {
	out := []byte{'{'}
	for _, m := range o {
		out = jsonrpc.AppendMember(out, m.name, m.value)
	}
	return append(out, '}')
}

// promptArguments returns the arguments of a prompt for clients. The error names the argument that
// cannot be changed, and the reason.
func promptArguments(list []*pb.PromptArgument, arguments []Argument) ([]*pb.PromptArgument, error) {
	out := slices.Clone(list)
	var errs ArgumentErrors
	for i := range arguments {
		a := &arguments[i]
		at := slices.IndexFunc(out, func(p *pb.PromptArgument) bool { return p.GetName() == a.Name })
		if at < 0 {
			errs = append(errs, ArgumentError{a.Place, fmt.Errorf("it has no argument %q", a.Name)})
			continue
		}
		if a.pinned() {
			out = slices.Delete(out, at, at+1)
			if other := slices.IndexFunc(out, func(p *pb.PromptArgument) bool { return SameMember(p.GetName(), a.Name) }); other >= 0 {
				errs = append(errs, ArgumentError{a.at(a.pinAt), fmt.Errorf("its arguments %q and %q cannot be distinguished: some backends read one as the other", a.Name, out[other].GetName())})
			}
			continue
		}
		changed := &pb.PromptArgument{Name: out[at].GetName(), Title: out[at].GetTitle(), Description: out[at].GetDescription(), Required: out[at].GetRequired()}
		if a.Description != "" {
			changed.Description = a.Description
		}
		if a.Default != nil {
			changed.Required = false
		}
		out[at] = changed
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return out, nil
}
