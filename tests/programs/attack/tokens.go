package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

var tokenAttacks = []attack{
	{name: "tokens", what: "tokens of unknown keys, forged, expired, huge or malformed, and proofs used before or forged, at a locked edge", locked: true, run: floodTokens},
}

const (
	// keysAskedEvery and keysReadEvery are the edge's own (docs/access.md, Keys of issuers): the least time between two
	// fetches of keys that tokens cause, and the time between the others.
	keysAskedEvery, keysReadEvery = 30 * time.Second, 5 * time.Minute
	// refusalsEvery is the edge's own (docs/access.md): the least time between two lines of the log about refusals for one reason. loggedEvery is
	// that between two other lines, on the average.
	refusalsEvery, loggedEvery = 10 * time.Second, 5 * time.Second
)

// asStranger is after how many requests an attacker goes on from another address: each is answered with the end of its
// connection, and the ports of an address are few.
const asStranger = 2000

// floodTokens has no bogus token served, each refused for what is wrong with it, the issuer asked rarely and little logged, a line for each reason now and then.
// When it is over those who have a key go on, with a proof or without.
func floodTokens(ctx context.Context, s *site) error {
	f, err := newForger(s.lock, s.edge.url())
	if err != nil {
		return err
	}
	if err := s.admitted(ctx, "DPoP "+f.stolen, "DPoP", f.used); err != nil {
		return fmt.Errorf("the token that is stolen: %w", err)
	}
	before, err := s.refused(ctx)
	if err != nil {
		return err
	}
	fetched, logged := s.lock.Fetches.Load(), s.logged()
	used, err := s.edge.cpu()
	if err != nil {
		return err
	}
	began := time.Now()
	sent, err := s.floodWith(ctx, f, began.Add(s.o.duration))
	took := time.Since(began)
	if err != nil {
		return err
	}
	busy, err := s.edge.cpu()
	if err != nil {
		return err
	}
	fetches, lines := s.lock.Fetches.Load()-fetched, s.logged()-logged
	total := 0
	for _, n := range sent {
		total += n
	}
	s.note("%d refused, %.0f a second, %.0f µs of the processor each, honest calls included", total, float64(total)/took.Seconds(),
		float64((busy-used).Microseconds())/float64(max(total, 1)))
	s.note("keys fetched %d times", fetches)
	s.note("%d lines logged beside those of honest calls", lines)
	if most := 2 + took/keysAskedEvery + took/keysReadEvery; fetches > int64(most) {
		return fmt.Errorf("the issuer's keys were fetched %d times in %s, want %d at most", fetches, took, most)
	}
	if most := len(before)*int(1+took/refusalsEvery) + int(1+took/loggedEvery); lines > most {
		return fmt.Errorf("%d lines were logged in %s, want %d at most; see %s", lines, took, most, s.log())
	}
	after, err := s.refused(ctx)
	if err != nil {
		return err
	}
	if err := refusedFor(sent, before, after); err != nil {
		return err
	}
	if err := s.admitted(ctx, "Bearer "+f.Token("afterwards", f.endpoint)); err != nil {
		return fmt.Errorf("a good token after it: %w", err)
	}
	if err := s.admitted(ctx, "DPoP "+f.stolen, "DPoP", f.prove(f.owner, nil)); err != nil {
		return fmt.Errorf("a good proof after it: %w", err)
	}
	return nil
}

// floodWith sends bogus credentials of all kinds until the end, and returns how many of each.
func (s *site) floodWith(ctx context.Context, f *forger, end time.Time) (sent []int, _ error) {
	const workers = 8
	counts := make([]atomic.Int64, len(bogusKinds))
	err := together(workers, workers, func(worker int) error {
		r := s.rogue()
		defer func() { r.close() }()
		for i := 1; time.Now().Before(end) && ctx.Err() == nil; i++ {
			if i%asStranger == 0 {
				r.close()
				r = s.rogue()
			}
			k := (worker + i) % len(bogusKinds)
			authorization, proof := bogusKinds[k].make(f)
			header := append(modernHeader("tools/call", "echo"), "Authorization", authorization)
			if proof != "" {
				header = append(header, "DPoP", proof)
			}
			a, err := r.send(ctx, http.MethodPost, r.modernBody("tools/call", callMembers("echo", `{"text":"stolen"}`)), header...)
			if err != nil {
				return fmt.Errorf("%s: %w", bogusKinds[k].name, err)
			}
			if a.status != http.StatusUnauthorized && a.status != http.StatusBadRequest || bytes.Contains(a.body, []byte("stolen")) {
				return fmt.Errorf("%s: status %d: %.200s; sent %.200s", bogusKinds[k].name, a.status, a.body, authorization)
			}
			counts[k].Add(1)
		}
		return nil
	})
	for k := range counts {
		sent = append(sent, int(counts[k].Load()))
	}
	return sent, err
}

// refusedFor says where what was refused, by reason, is not what was sent, by kind.
func refusedFor(sent []int, before, after map[string]int) error {
	groups := map[string]int{} // by the reasons of kinds
	for k, n := range sent {
		groups[strings.Join(bogusKinds[k].reasons, " ")] += n
	}
	var errs []error
	for group, want := range groups {
		got := 0
		for reason := range strings.FieldsSeq(group) {
			got += after[reason] - before[reason]
		}
		if got != want {
			errs = append(errs, fmt.Errorf("%d requests were refused for the reasons %q, want %d", got, group, want))
		}
	}
	return collect(errs)
}

// refused is what the edge counts of refusals, by reason.
func (s *site) refused(ctx context.Context) (map[string]int, error) {
	text, err := s.edge.ask(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	found := map[string]int{}
	for _, k := range bogusKinds {
		for _, reason := range k.reasons {
			if found[reason], err = metric(text, `mcpedge_auth_refused_total{mcpedge_auth_reason="`+reason+`"}`); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// admitted checks that a call with credentials, and further headers, is answered as it should be.
func (s *site) admitted(ctx context.Context, authorization string, header ...string) error {
	r := s.rogue()
	defer r.close()
	header = slices.Concat(modernHeader("tools/call", "echo"), []string{"Authorization", authorization}, header)
	a, err := r.send(ctx, http.MethodPost, r.modernBody("tools/call", callMembers("echo", `{"text":"admitted"}`)), header...)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK || !bytes.Contains(a.body, []byte("admitted")) {
		return fmt.Errorf("status %d: %.200s", a.status, a.body)
	}
	return nil
}

// logged counts the lines of the edge's log, but for those of calls that were served, of which each has one.
func (s *site) logged() (lines int) {
	text, _ := os.ReadFile(s.log()) // an edge that runs has one
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, []byte(" msg=request ")) || !bytes.Contains(line, []byte(" outcome=ok ")) {
			lines++
		}
	}
	return lines
}
