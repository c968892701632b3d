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

// checkWithin is how long the answer to a call of hostile arguments may take: less than the honest may wait.
const checkWithin = 8 * time.Second

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
		began := time.Now()
		err := together(12, 6, func(i int) error {
			limited, cancel := context.WithTimeout(ctx, checkWithin)
			if i%3 == 2 { // it is gone before the answer
				limited, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
			}
			defer cancel()
			a, err := r.call(limited, tool, arguments)
			if i%3 == 2 {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: no answer to %d bytes within %s: %w", tool, len(arguments), checkWithin, err)
			}
			return answeredByRule(a)
		})
		s.note("12 calls of %d bytes in %.1f s", len(arguments), time.Since(began).Seconds())
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
