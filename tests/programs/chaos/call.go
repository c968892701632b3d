package main

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// kind says what an entry of a call's transcript is.
type kind uint8

const (
	sent       kind = iota // the request went out
	opened                 // a stream began
	refused                // the request or a resumption got this status
	got                    // an event without a message: priming, or a farewell
	progressed             // progress, n
	asked                  // a request of the server, with its id as text
	responded              // the response; text is "" for the expected result, else what came
	ended                  // the stream ended; text says how if it broke
	resuming               // the stream is asked for again, after an event
	answering              // an answer went out, with its id as text
	taken                  // it was accepted
	untaken                // it was answered with this status, or cut
	strange                // what must not happen
)

var kinds = [...]string{"sent", "opened", "refused", "got", "progressed", "asked", "responded", "ended", "resuming",
	"answering", "taken", "untaken", "strange"}

// entry is one line of a transcript.
type entry struct {
	at   time.Time
	kind kind
	// by is the incarnation that served it; "" when no one is known.
	by string
	// id of an event, or of the event that is resumed after.
	id string
	// n is a progress value or an HTTP status.
	n    int
	text string
}

// fate is how a call ended for its client.
type fate uint8

const (
	unanswered fate = iota // it never did
	answered               // by a response
	cut                    // before its client had an event id: to be sent again
	rejected               // before it was begun: to be sent again
	forgotten              // the edge does not know the stream that it gave out
)

var fates = [...]string{"unanswered", "answered", "cut", "rejected", "forgotten"}

// call is one JSON-RPC request of one client. Safe for concurrent use until it is judged.
type call struct {
	// tag is unique: client, number, and how often that was sent, as in "17-3-1".
	tag     string
	tool    string
	session string
	fate    fate

	mu      sync.Mutex
	entries []entry
}

// note adds a line to the transcript.
func (c *call) note(e entry) {
	e.at = time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(c.entries, e)
}

// identified: the client has an event id of the call.
func (c *call) identified() bool {
	for _, e := range c.entries {
		if e.id != "" && e.kind != resuming {
			return true
		}
	}
	return false
}

// response is the first response; nil when there is none.
func (c *call) response() *entry {
	for i := range c.entries {
		if c.entries[i].kind == responded {
			return &c.entries[i]
		}
	}
	return nil
}

// transcript prints what the client, the service and the disturber saw of a call, in seconds since it
// began.
func (c *call) transcript(runs []*run, losses []loss) string {
	var b strings.Builder
	start := c.entries[0].at
	since := func(t time.Time) float64 { return t.Sub(start).Seconds() }
	fmt.Fprintf(&b, "%s %s of session %s, begun at %s: %s\n", c.tool, c.tag, c.session, start.Format("15:04:05.000"), fates[c.fate])
	for _, e := range c.entries {
		fmt.Fprintf(&b, "  %7.3f %-10s %-5s %s", since(e.at), kinds[e.kind], e.by, e.id)
		if e.n != 0 {
			fmt.Fprintf(&b, " %d", e.n)
		}
		fmt.Fprintf(&b, " %s\n", e.text)
	}
	for _, r := range runs {
		until := "on"
		if !r.end.IsZero() {
			until = fmt.Sprintf("%.3f", since(r.end))
		}
		fmt.Fprintf(&b, "  %7.3f run        %-5s attempt %d, round %d, until %s\n", since(r.start), r.by, r.attempt, r.round, until)
	}
	for _, l := range losses {
		if l.at.After(start) && l.at.Before(c.entries[len(c.entries)-1].at) {
			fmt.Fprintf(&b, "  %7.3f lost       %s\n", since(l.at), l.what)
		}
	}
	return b.String()
}
