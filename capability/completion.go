package capability

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// maxSuggestions is the maximum number of values in a completion, set by MCP.
const maxSuggestions = 100

// Completer returns suggestions for an argument, best first. value is the text typed so far; chosen
// holds the arguments already completed. Suggestions beyond 100 are dropped, and the client learns
// that there are more. The Call holds the request's metadata; it cannot ask, and its events are
// dropped. MCP: completion/complete.
type Completer func(ctx context.Context, c *Call, value string, chosen map[string]string) ([]string, error)

// CompleteOption adds suggestions to an argument of a prompt or a variable of a template.
type CompleteOption func(map[string]Completer)

// Complete uses a Completer to suggest values for the named argument. It panics if by is nil.
func Complete(argument string, by Completer) CompleteOption {
	if by == nil {
		panic(fmt.Sprintf("capability: the completer of %q is nil", argument))
	}
	return func(m map[string]Completer) { m[argument] = by }
}

// Suggest suggests those of the given values that begin with the typed text, in the given order.
// Case is ignored.
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

// suggestions is the result of a completion.
type suggestions struct {
	values []string
	total  *int32 // nil means unknown
	more   bool
}

// complete runs a completer. A nil completer returns no suggestions.
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
