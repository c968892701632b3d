package main

import (
	"slices"
	"time"
)

// act is a sign that an incarnation had to do with a call.
type act struct {
	at time.Time
	by string
	// ran: it ran the handler, so it owned the call. Else the request or an answer went to it, which may
	// have made it the owner.
	ran bool
}

// acts are the signs of who owned a call, in order.
func acts(c *call, runs []*run) []act {
	var out []act
	var pending time.Time
	first := true
	for _, e := range c.entries {
		switch {
		case e.kind == sent, e.kind == answering:
			pending = e.at
		case e.by == "":
		case e.kind == taken, e.kind == untaken, first && (e.kind == opened || e.kind == refused || e.kind == responded):
			out = append(out, act{at: pending, by: e.by})
			first = false
		}
	}
	for _, r := range runs {
		out = append(out, act{at: r.start, by: r.by, ran: true})
	}
	slices.SortStableFunc(out, func(a, b act) int { return a.at.Compare(b.at) })
	return out
}

// claimable is how long after its owner's loss a call cannot have a new owner yet: what is left of the
// lease when the owner has just given its last sign of life.
const claimable = 1900 * time.Millisecond

// lossesOf are the moments at which a call may have lost its owner. Of several incarnations that an
// answer went to, each may have been it. A replica that had claimed the call, but did not come to run
// it, is not known: once a lost call could be claimed, any loss counts.
func lossesOf(c *call, runs []*run, all []loss) []loss {
	signs := acts(c, runs)
	start, end := c.entries[0].at, c.entries[len(c.entries)-1].at
	var out []loss
	owners := map[string]bool{}
	var orphan time.Time // since when it may have none
	for _, l := range all {
		for len(signs) > 0 && !signs[0].at.After(l.at) {
			if signs[0].ran {
				orphan = time.Time{}
				clear(owners)
			}
			owners[signs[0].by] = true
			signs = signs[1:]
		}
		if l.at.Before(start) || l.at.After(end) {
			continue
		}
		claimed := !orphan.IsZero() && l.at.Sub(orphan) >= claimable
		if l.by == "" || owners[l.by] || claimed {
			out = append(out, l)
		}
		if owners[l.by] || claimed {
			orphan = l.at
		}
	}
	return out
}

// explained says whether a call's outcome may be unknown: it lost its owner while that had something to
// do, so not while the client was known to be asked.
func explained(c *call, runs []*run, losses []loss) bool {
	signs := acts(c, runs)
	for _, l := range losses {
		var since time.Time
		for _, a := range signs {
			if !a.at.After(l.at) {
				since = a.at
			}
		}
		if !slices.ContainsFunc(c.entries, func(e entry) bool {
			return e.kind == asked && e.at.After(since) && e.at.Before(l.at)
		}) {
			return true
		}
	}
	return false
}

// silences are how long a client heard nothing of a call that it waited for: since the last event or
// the answer that it gave, or since the last loss of the call's owner when that was later; where no
// replica was left, since replicas ran again.
func silences(c *call, losses []loss) (longest time.Duration) {
	var since time.Time // zero: there is no stream yet, or the client's answer is due
	for _, e := range c.entries {
		switch e.kind {
		case got, progressed, asked, responded:
			if !since.IsZero() {
				for _, l := range losses {
					if l.at.After(since) && l.at.Before(e.at) {
						if since = l.over(); since.After(e.at) {
							since = e.at
						}
					}
				}
				longest = max(longest, e.at.Sub(since))
			}
			if since = e.at; e.kind == asked {
				since = time.Time{}
			}
		case taken:
			since = e.at
		}
	}
	return longest
}
