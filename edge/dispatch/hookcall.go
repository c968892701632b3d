package dispatch

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/hook"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/translate"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
)

// hookKinds are the kinds of targets in the contract of hooks.
var hookKinds = map[policy.Kind]hookv1.TargetKind{
	policy.Tool: hookv1.TargetKind_TARGET_KIND_TOOL, policy.Prompt: hookv1.TargetKind_TARGET_KIND_PROMPT,
	policy.Resource: hookv1.TargetKind_TARGET_KIND_RESOURCE, policy.Template: hookv1.TargetKind_TARGET_KIND_TEMPLATE,
}

// hookCall describes the round to a hook.
func (r *round) hookCall(h *hook.Hook) *hookv1.Call {
	out := &hookv1.Call{
		Method: string(r.call.Method), Set: r.call.Set, Target: r.hookTarget(), ArgumentsJson: r.hookArguments(), CallId: r.call.ID,
		Round:   uint32(r.call.Round),   // #nosec G115 -- bounded by calls.rounds
		Attempt: uint32(r.call.Attempt), // #nosec G115 -- bounded by the constant Attempts
		Task:    r.call.Task != nil && r.call.Task.ID != "",
	}
	if about, err := translate.Context(r.call); err == nil {
		out.Principal, out.ClientInfo = about.GetPrincipal(), about.GetClientInfo()
	}
	for _, name := range h.Claims() {
		value, ok := r.call.Principal.Forwarded[name]
		if !ok || out.Principal == nil {
			continue
		}
		if out.Principal.ClaimsJson == nil {
			out.Principal.ClaimsJson = map[string]string{}
		}
		out.Principal.ClaimsJson[name] = string(value)
	}
	return out
}

func (r *round) hookTarget() *hookv1.Target {
	t := r.named.Policy
	out := &hookv1.Target{Kind: hookKinds[t.Kind], Backend: r.named.Backend.Name(), Name: t.Name, OwnName: t.Name, ShownName: r.call.Params.Shown()}
	switch {
	case r.named.Tool != nil:
		out.OwnName = r.named.Tool.Proto.GetName()
		out.Hints = &hookv1.ToolHints{ReadOnly: t.Hints.ReadOnly, Destructive: t.Hints.Destructive, Idempotent: t.Hints.Idempotent, OpenWorld: t.Hints.OpenWorld}
	case r.named.Prompt != nil:
		out.OwnName = r.named.Prompt.Proto.GetName()
	}
	return out
}

// hookArguments returns the arguments of the round as JSON; empty if its method has none.
func (r *round) hookArguments() string {
	switch {
	case r.named.Completion != nil:
		args, _ := chosen(r.named.Completion)() // It has no errors.
		text, _ := json.Marshal(args)           // Strings are always JSON.
		return string(text)
	case r.call.Method == mcp.MethodToolsCall, r.call.Method == mcp.MethodPromptsGet:
		args, _ := r.arguments() // They were read before.
		return string(args)
	}
	return ""
}
