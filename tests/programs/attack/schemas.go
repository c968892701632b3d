package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

var schemaAttacks = []attack{
	{name: "schema-chain", what: "a $ref chain, allOf of the next one twice, 60 levels", run: checked("chain", `{"a":1}`)},
	{name: "schema-self", what: "a schema that is its own property and pattern property", run: checked("self", nested(`{"a":`, "}", 64))},
	{name: "schema-mirrors", what: "64 x-mcp-header annotations 16 levels deep, and 3 MB of escapes on the way to them",
		run: checked("mirrors", strings.Repeat(`{"p":`, 15)+`{"z":"`+strings.Repeat(`\n`, 3<<19)+`"}`+strings.Repeat("}", 15))},
	{name: "schema-contains", what: "a schema that is its own items and contains", run: checked("contains", `{"a":`+nested("[", "]", 64)+`}`)},
}

// checkCost is the processor time that the calls of one attack with hostile arguments may take together.
const checkCost = 16 * time.Second

// mirrorsSchema has as many annotations as an edge uses, each as deep as it looks for them.
func mirrorsSchema() string {
	var leaves []string
	for i := range 64 {
		leaves = append(leaves, fmt.Sprintf(`"k%d":{"type":"string","x-mcp-header":"k%d"}`, i, i))
	}
	return strings.Repeat(`{"type":"object","properties":{"p":`, 15) + `{"type":"object","properties":{` + strings.Join(leaves, ",") + `}}` + strings.Repeat("}}", 15)
}

// nested is a value of some depth.
func nested(before, after string, levels int) string {
	return strings.Repeat(before, levels) + "1" + strings.Repeat(after, levels)
}

// checked calls a tool whose schema multiplies, from several clients, of whom some leave.
func checked(tool, arguments string) func(context.Context, *site) error {
	return func(ctx context.Context, s *site) error {
		r := s.rogue()
		defer r.close()
		used, err := s.edge.costs(checkCost, func() error {
			return together(12, 6, func(i int) error {
				if i%3 == 2 { // This client leaves before the answer.
					limited, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
					defer cancel()
					_, _ = r.call(limited, tool, arguments)
					return nil
				}
				a, err := r.call(ctx, tool, arguments)
				if err != nil {
					return fmt.Errorf("%s: no answer to %d bytes: %w", tool, len(arguments), err)
				}
				return answeredByRule(a)
			})
		})
		s.note("12 calls of %d bytes took %s of processor time", len(arguments), used)
		return err
	}
}

// answeredByRule: a call was either done or refused with an error.
func answeredByRule(a *answer) error {
	if a.status >= 500 && a.status != http.StatusServiceUnavailable {
		return fmt.Errorf("status %d: %.200s", a.status, a.body)
	}
	if !bytes.Contains(a.body, []byte(`"result"`)) && !bytes.Contains(a.body, []byte(`"error"`)) {
		return fmt.Errorf("status %d, neither result nor error: %.200s", a.status, a.body)
	}
	return nil
}
