package capability

import (
	"context"
	"log/slog"
	"strings"
)

// maxSuggestions is how many values MCP lets a completion carry.
const maxSuggestions = 100

// Completer suggests values for one argument: value is what was typed so far, chosen are the
// arguments already filled in. Best first; beyond 100 the client is told that there are more. The
// Call is there for what is known of the request: it cannot ask, and its events are dropped.
// MCP: completion/complete.
type Completer func(ctx context.Context, c *Call, value string, chosen map[string]string) ([]string, error)

// CompleteOption gives an argument of a prompt or a variable of a template its suggestions.
type CompleteOption func(map[string]Completer)

// Complete suggests values for the named argument by a Completer.
func Complete(argument string, by Completer) CompleteOption {
	return func(m map[string]Completer) { m[argument] = by }
}

// Suggest suggests those of fixed values that begin with what was typed, whatever the case, in
// their order.
func Suggest(argument string, values ...string) CompleteOption {
	return Complete(argument, func(_ context.Context, _ *Call, value string, _ map[string]string) ([]string, error) {
		var fitting []string
		for _, v := range values {
			if len(v) >= len(value) && strings.EqualFold(v[:len(value)], value) {
				fitting = append(fitting, v)
			}
		}
		return fitting, nil
	})
}

func completersOf(options []CompleteOption) map[string]Completer {
	m := map[string]Completer{}
	for _, o := range options {
		o(m)
	}
	return m
}

// suggestions is a completion's answer.
type suggestions struct {
	values []string
	total  *int32 // nil: unknown
	more   bool
}

// complete runs a completer; an argument without one has no suggestions.
func complete(ctx context.Context, log *slog.Logger, name string, by Completer, c *Call, value string, chosen map[string]string) (suggestions, error) {
	if by == nil {
		return suggestions{}, nil
	}
	out := run(ctx, log, "completion of "+name, c, func() ([]string, error) { return by(ctx, c, value, chosen) }, failPlainly)
	switch {
	case out.err != nil:
		return suggestions{}, out.err
	case out.failure != nil:
		return suggestions{}, failureStatus(out.failure)
	case out.required != nil:
		return suggestions{}, failureStatus((&Failure{Reason: Internal, Message: "a completion cannot ask the client"}).proto())
	}
	total := int32(min(len(out.result), 1<<30))
	if len(out.result) > maxSuggestions {
		return suggestions{out.result[:maxSuggestions], &total, true}, nil
	}
	return suggestions{out.result, &total, false}, nil
}
