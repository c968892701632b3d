package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
)

var argumentAttacks = []attack{
	{name: "items-plain", what: "4 MiB of wrong items under an honest schema, four at once", run: wrongItems("numbers")},
	{name: "items-anyof", what: "4 MiB of wrong items under anyOf of four, four at once", run: wrongItems("choices")},
	{name: "items-reflected", what: "4 MiB of wrong items for a reflected service, four at once", run: wrongStock},
	{name: "arguments-deep", what: "JSON that is nested a million times", run: deepArguments},
	{name: "arguments-odd", what: "numbers of a million digits, strings that are no UTF-8, control characters, null bytes", run: oddArguments},
	{name: "arguments-twice", what: "duplicate keys, which check and backend may read otherwise", run: duplicateKeys},
	{name: "responses-unasked", what: "50,000 inputResponses that nobody asked for", run: unaskedResponses},
}

// bodySize is nearly the largest body there may be.
const bodySize = 4000 << 10

// list is an array of the same item, as long as a body may be.
func list(item string) string { return repeated(item, bodySize/(len(item)+1)) }

// admitted is how many items a call may have: as many as limits.argument-values leaves, by default.
const admitted = 49_000

func repeated(item string, n int) string {
	return "[" + strings.Repeat(item+",", n-1) + item + "]"
}

// wrongItems sends arrays in which every item is wrong.
func wrongItems(tool string) func(context.Context, *site) error {
	return func(ctx context.Context, s *site) error {
		return s.wrong(ctx, tool, `{"list":`+list(`"a"`)+`}`, `{"list":`+list(`1.5`)+`}`, `{"list":`+list(`{}`)+`}`,
			`{"list":`+repeated(`"a"`, admitted)+`}`, `{"list":`+repeated(`{}`, admitted)+`}`,
			`{"list":`+repeated(`"`+strings.Repeat("a", 70)+`"`, admitted)+`}`)
	}
}

func wrongStock(ctx context.Context, s *site) error {
	return s.wrong(ctx, stockTool, `{"items":`+list(`1`)+`}`, `{"items":`+list(`{"x":1}`)+`}`, `{"items":`+list(`{"shelf":"a","room":1}`)+`}`,
		`{"items":`+repeated(`1`, admitted)+`}`, `{"items":`+repeated(`{"shelf":"a","room":1}`, admitted/3)+`}`)
}

// wrong sends each of the arguments from four clients at once. All must be refused, without a backend's doing.
func (s *site) wrong(ctx context.Context, tool string, arguments ...string) error {
	r := s.rogue()
	defer r.close()
	for _, a := range arguments {
		_, err := s.edge.costs(3*checkCost, func() error {
			return together(4, 4, func(int) error {
				got, err := r.call(ctx, tool, a)
				if err != nil {
					return err
				}
				if bytes.Contains(got.body, []byte("bytes of arguments")) {
					return fmt.Errorf("the backend was called: %.200s", got.body)
				}
				return answeredByRule(got)
			})
		})
		if err != nil {
			return fmt.Errorf("%s, %.20s…: %w", tool, a, err)
		}
	}
	return nil
}

func deepArguments(ctx context.Context, s *site) error {
	const levels = 1_000_000
	r := s.rogue()
	defer r.close()
	bodies := map[string]string{
		"arrays in arguments": r.modernBody("tools/call", callMembers("anything", `{"a":`+nested("[", "]", levels)+`}`)),
		"objects":             r.modernBody("tools/call", callMembers("anything", nested(`{"a":`, "}", levels/3))),
		"unclosed":            r.modernBody("tools/call", callMembers("anything", strings.Repeat(`{"a":`, levels/3))),
		"in _meta":            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":` + meta(`,"a":`+nested("[", "]", levels)) + callMembers("anything", "{}") + `}}`,
		"a batch":             nested("[", "]", levels),
		"in the id":           `{"jsonrpc":"2.0","id":` + nested("[", "]", levels) + `,"method":"ping"}`,
	}
	for name, body := range bodies {
		a, err := r.send(ctx, "POST", body, modernHeader("tools/call", "anything")...)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := answeredByRule(a); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func oddArguments(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	digits := strings.Repeat("9", 1_000_000)
	for name, odd := range map[string]struct {
		arguments string
		refused   bool
	}{
		"a large integer":    {`{"list":[` + digits + `]}`, false},
		"a large exponent":   {`{"list":[1e999999999]}`, false},
		"a small exponent":   {`{"list":[1e-999999999]}`, false},
		"an infinite one":    {`{"list":[Infinity]}`, true},
		"no UTF-8":           {"{\"list\":[\"\xff\xfe\xc0\"]}", true},
		"half a surrogate":   {`{"list":["\ud800"]}`, false},
		"a null byte":        {"{\"list\":[\"\x00\"]}", true},
		"an escaped null":    {`{"list":["\u0000"]}`, false},
		"control characters": {"{\"list\":[\"\x01\x1f\"]}", true},
	} {
		for _, tool := range []string{"numbers", "anything"} {
			a, err := r.call(ctx, tool, odd.arguments)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if err := answeredByRule(a); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if odd.refused && bytes.Contains(a.body, []byte("bytes of arguments")) {
				return fmt.Errorf("%s reached the backend: %.200s", name, a.body)
			}
		}
	}
	return nil
}

func duplicateKeys(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	var errs []error
	for _, arguments := range []string{
		`{"list":["no number"],"list":[11]}`, `{"list":[11],"list":["no number"]}`, `{"list":[11],"\u006cist":["no number"]}`,
		`{"list":[11],"a":{"b":{"c":1,"c":2}}}`,
	} {
		a, err := r.call(ctx, "numbers", arguments)
		if err != nil {
			return err
		}
		if bytes.Contains(a.body, []byte("bytes of arguments")) {
			errs = append(errs, fmt.Errorf("%s reached the backend", arguments))
		}
	}
	return errors.Join(errs...)
}

func unaskedResponses(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	var b strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&b, `,"k%d":{"action":"decline"}`, i)
	}
	many := `,"inputResponses":{` + b.String()[1:] + `}`
	a, err := r.modern(ctx, "tools/call", "anything", callMembers("anything", "{}")+many)
	if err != nil {
		return err
	}
	if bytes.Contains(a.body, []byte("50000 answers")) {
		return fmt.Errorf("all of them reached the backend: %.200s", a.body)
	}
	return answeredByRule(a)
}
