package dispatch

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/redact"
)

// maxQuoted bounds the value of an argument in the message of a confirmation, in bytes.
const maxQuoted = 200

// question returns the text of the question for confirmations or approvals, without the secrets
// that are replaced in the place. Texts of the caller or the model appear only as JSON, without
// characters that cannot be printed.
func (r *round) question(place redact.Place, obligations []policy.Obligation, args json.RawMessage) string {
	masks := r.masks(place)
	shown := masks.Arguments(withoutAdded(args, r.call.Params.Added())) // the client does not know the added arguments
	args = masks.Arguments(args)
	var b strings.Builder
	var tool excerpt
	tool.quoted(r.call.Params.Sent.Target, mcp.MaxName)
	_, _ = fmt.Fprintf(&b, "The tool %s of the backend %q is about to be called.", tool.text, r.named.Tool.Owner.Name())
	for i := range obligations {
		b.WriteString("\n\n" + masks.Text(obligations[i].Text(func(path []string) string { return quotedAt(args, path) })))
		if remember := obligations[i].Remember; remember > 0 && !r.call.Principal.Anonymous() {
			_, _ = fmt.Fprintf(&b, "\nIf you confirm, this tool runs without this question for %s, whatever its arguments are.", shortDuration(remember))
		}
	}
	if text := shownArguments(shown); text != "" && text != "{}" {
		b.WriteString("\n\nArguments: " + text)
	}
	return b.String()
}

// shortDuration returns a duration without the units that are zero at its end.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// quotedAt returns the value of an argument at a path, quoted.
func quotedAt(args json.RawMessage, path []string) string {
	value := args
	for _, name := range path {
		var ok bool
		if jsonrpc.TypeOf(value) != jsonrpc.Object {
			return "(absent)"
		}
		if value, ok = jsonrpc.Member(value, name); !ok {
			return "(absent)"
		}
	}
	return excerptOf(jsonrpc.Compact(nil, value), maxQuoted).String()
}

// clipped returns at most most bytes of a text, with … for the rest.
func clipped(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// withoutAdded returns arguments without the members that the edge added. A nil added means none.
func withoutAdded(args, added json.RawMessage) json.RawMessage {
	if added == nil {
		return args
	}
	var kept []argument
	_ = jsonrpc.Members(args, func(name string, value json.RawMessage) error {
		if _, is := jsonrpc.Member(added, name); !is {
			kept = append(kept, argument{name, value})
		}
		return nil
	})
	return objectOf(kept)
}
