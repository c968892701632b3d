package main

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// contest is an edge of its own with backends in their order.
type contest struct {
	*fleet
	*rogue
}

// contend starts the backends that have no address yet, and an edge before all. more are lines of its file, settings its flags.
func (s *site) contend(ctx context.Context, name, more string, settings []setting, all ...*holder) (*contest, error) {
	text := more + "backends:\n"
	for _, h := range all {
		if h.addr == "" {
			if err := h.up(); err != nil {
				return nil, err
			}
		}
		text += fmt.Sprintf("  - {name: %s, target: %q, refresh: 1s, stale-after: 1s, timeout: 30s}\n", h.name, h.addr)
	}
	f, err := s.start(ctx, s.base(name), text, settings...)
	if err != nil {
		return nil, err
	}
	return &contest{fleet: f, rogue: f.rogue("127.0.0.4")}, nil
}

func (c *contest) end() {
	c.rogue.close()
	c.fleet.kill()
}

// until asks a list until it has a text, or has it not any more, at each replica.
func (c *contest) until(ctx context.Context, method, text string, has bool) error {
	return c.rogue.each(func(r *rogue) error {
		for end := time.Now().Add(2 * slack); ; pause(ctx, 50*time.Millisecond) {
			a, err := r.modern(ctx, method, "", "")
			if err == nil && bytes.Contains(a.body, []byte(text)) == has {
				return nil
			}
			if time.Now().After(end) {
				return fmt.Errorf("%s has %s: %t after %v: %v", method, text, !has, 2*slack, err)
			}
		}
	})
}

// doors are requests for what a backend of everything has.
var doors = []struct{ method, name, members string }{
	{"tools/call", "pay", callMembers("pay", "{}")},
	{"prompts/get", "ask", `,"name":"ask"`},
	{"resources/read", "doc://one", `,"uri":"doc://one"`},
	{"resources/read", "item://7", `,"uri":"item://7"`},
	{"resources/read", "file:///a/b", `,"uri":"file:///a/b"`},
}

// refused asks each replica for everything, none of which the thief may be asked for.
func (c *contest) refused(ctx context.Context, thief *holder) error {
	return c.rogue.each(func(r *rogue) error {
		for _, d := range doors {
			a, err := r.modern(ctx, d.method, d.name, d.members)
			if err != nil {
				return err
			}
			if n := thief.calls.Load(); n > 0 || !bytes.Contains(a.body, []byte("-31502")) {
				return fmt.Errorf("%s of %s: the other backend was called %d times: %.200s", d.method, d.name, n, a.body)
			}
		}
		return nil
	})
}
