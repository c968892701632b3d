package dev

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/mcpedge/mcpedge/edge/frame"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

const (
	// changeInterval is the minimum interval between two events of changes on a page's stream.
	changeInterval = 200 * time.Millisecond
	// idleInterval is the interval of events without changes, which also update running calls.
	idleInterval = 2 * time.Second
)

// events streams the calls and tasks to a page. The first event "calls" has all of them. Events
// "changes" have the new and changed ones, and the ids of the removed ones.
func (h *handler) events(w http.ResponseWriter, r *http.Request) {
	select {
	case h.streams <- struct{}{}:
		defer func() { <-h.streams }()
	default:
		h.guard.Refuse(w, http.StatusServiceUnavailable, "too many pages are open: close one")
		return
	}
	changed, stop := h.store.watch()
	defer stop()
	stream, err := h.guard.Events(w)
	if err != nil {
		return
	}
	defer stream.Close()
	f := feed{known: map[string]summary{}}
	ticker := time.NewTicker(idleInterval)
	defer ticker.Stop()
	for {
		if f.send(stream, h.listing(r.Context())) != nil {
			return
		}
		select { // changes in quick succession become one event
		case <-time.After(changeInterval):
		case <-r.Context().Done():
			return
		}
		select {
		case <-changed:
		case <-ticker.C:
		case <-r.Context().Done():
			return
		}
	}
}

// feed is the state that one page has received.
type feed struct {
	known map[string]summary
	began bool
}

// changes is the data of an event.
type changes struct {
	listing
	Gone []string `json:"gone,omitempty"`
}

func (f *feed) send(stream *web.Events, now listing) error {
	name, out := "changes", changes{listing: listing{Calls: []summary{}, Dropped: now.Dropped}}
	if !f.began {
		name, f.began = "calls", true
	}
	next := make(map[string]summary, len(now.Calls))
	for _, c := range now.Calls {
		next[c.ID] = c
		if f.known[c.ID] != c {
			out.Calls = append(out.Calls, c)
		}
	}
	for id := range f.known {
		if _, ok := next[id]; !ok {
			out.Gone = append(out.Gone, id)
		}
	}
	f.known = next
	if name == "changes" && len(out.Calls)+len(out.Gone) == 0 {
		return stream.Comment()
	}
	data, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return stream.Send(frame.Event{Name: name, Data: data})
}
