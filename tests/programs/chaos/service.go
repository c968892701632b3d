package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

const (
	steps    = 20
	interval = 50 * time.Millisecond
)

// countdownIn and tripIn are the tools' arguments. Call is the tag of the call.
type countdownIn struct {
	Call string `json:"call"`
}

type tripIn struct {
	Call string `json:"call"`
}

type seatForm struct {
	Seat string `json:"seat" enum:"window,aisle"`
}

type consentForm struct {
	Confirm bool `json:"confirm"`
}

// newService makes the backend of one replica; by names the incarnation that calls it. All replicas'
// backends write to the same ledger. taskFor is how long a task works at least.
func newService(l *ledger, by func() string, taskFor time.Duration) *capability.Server {
	s := capability.New("chaos", "1.0.0", capability.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	capability.AddTool(s, "countdown", "Counts down and changes nothing",
		func(ctx context.Context, c *capability.Call, in countdownIn) (string, error) {
			defer l.begin(in.Call, by(), c.Attempt(), c.Round())()
			t := time.NewTicker(interval)
			defer t.Stop()
			for step := 1; step <= steps; step++ {
				select {
				case <-t.C:
				case <-ctx.Done():
					return "", ctx.Err()
				}
				c.Progress(float64(step), steps, "")
			}
			return done(in.Call), nil
		}, capability.ReadOnly())
	capability.AddTool(s, "book_trip", "Books a trip, once per confirmed call",
		func(_ context.Context, c *capability.Call, in tripIn) (string, error) {
			defer l.begin(in.Call, by(), c.Attempt(), c.Round())()
			// Whoever called may be lost by now: what is booked is booked.
			work()
			if _, err := capability.Ask[seatForm](c, "seat", "Which seat?"); err != nil {
				return "", err
			}
			consent, err := capability.Ask[consentForm](c, "consent", "Book it?")
			if err != nil || !consent.Confirm {
				return "", fmt.Errorf("not confirmed: %v", err)
			}
			l.book(in.Call)
			work()
			return done(in.Call), nil
		}, capability.Destructive(false))
	addTaskTools(s, l, by, taskFor)
	return s
}

// work takes a while, so that a replica may be lost in the middle of it.
func work() { time.Sleep(10*time.Millisecond + rand.N(30*time.Millisecond)) }

// done is the text of a call's result.
func done(tag string) string { return tag + " done" }
