package overlay

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Sent returns the arguments that a backend receives for the arguments given by a caller, a JSON
// object. It is for commands that explain or try calls; the edge itself preserves the bytes of a
// call. The error names an argument, and the reason for which the call is refused.
func Sent(arguments []Argument, who *mcp.Principal, object json.RawMessage) (json.RawMessage, error) {
	if len(arguments) == 0 {
		return object, nil
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &members); err != nil || members == nil {
		return nil, fmt.Errorf("%.60q is not a JSON object", object)
	}
	names := slices.Sorted(maps.Keys(members))
	given := func(argument string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return SameMember(name, argument) && (name != argument || string(members[name]) != "null")
		})
	}
	for _, name := range names {
		if pin := PinOf(arguments, name); pin != nil {
			return nil, fmt.Errorf("the catalog pins the argument %s, and %s is given", pin.Name, name)
		}
	}
	for i := range arguments {
		switch a := &arguments[i]; {
		case a.Pin != nil:
			value, err := a.Value(who)
			if err != nil {
				return nil, fmt.Errorf("the catalog pins the argument %s: %w", a.Name, err)
			}
			members[a.Name] = value
		case a.Default != nil && !given(a.Name):
			members[a.Name] = a.Default
		}
	}
	return json.Marshal(members)
}
