package overlay

import (
	"encoding/json"
	"slices"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// withoutPinned returns the trials whose arguments are not pinned by changes.
func withoutPinned(trials, changes []Argument) []Argument {
	if len(trials) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(trials), func(a Argument) bool { return PinOf(changes, a.Name) != nil })
}

// ToolTrials returns copies of trials that know the schema of the tool.
func ToolTrials(trials []Argument, schema string) []Argument {
	out := Typed(trials, schema)
	for i := range out {
		_, out[i].impossible = argumentSchema(schema, trials[i:i+1])
	}
	return out
}

// PromptTrials returns copies of trials that know the arguments of the prompt.
func PromptTrials(trials []Argument, list []*pb.PromptArgument) []Argument {
	if len(trials) == 0 {
		return nil
	}
	out := Texts(trials)
	for i := range out {
		_, out[i].impossible = promptArguments(list, trials[i:i+1])
	}
	return out
}

// Impossible returns the reason for which the argument of a trial cannot be pinned, so that the
// tool or prompt would be hidden. It returns nil if it can be pinned.
func (a *Argument) Impossible() error { return a.impossible }

// Rule returns the name of a trial: the place of its setting, such as
// catalog.tools[0].arguments.tenant.
func (a *Argument) Rule() string { return a.at(a.pinAt) + ".arguments." + a.Name }

// Try returns the effect that each trial would have had on a call, as if it alone were in force.
// The effect is hide if the argument cannot be pinned, deny if the caller sends the argument or has
// no value for it, and otherwise replace, because the backend would get the value. given are the
// caller's arguments as JSON objects, as the edge and as the backend reads them.
func Try(trials []Argument, who *mcp.Principal, given ...json.RawMessage) (out []mcp.Trial) {
	for i := range trials {
		out = append(out, mcp.Trial{Effect: trials[i].try(who, given), By: "pin", Rule: trials[i].Rule()})
	}
	return out
}

// try returns the effect of a trial.
func (a *Argument) try(who *mcp.Principal, given []json.RawMessage) string {
	if a.impossible != nil {
		return "hide"
	}
	sent := false
	for _, object := range given {
		_ = jsonrpc.Members(object, func(name string, _ json.RawMessage) error {
			sent = sent || SameMember(name, a.Name)
			return nil
		})
	}
	if _, err := a.Value(who); sent || err != nil {
		return "deny"
	}
	return "replace"
}
