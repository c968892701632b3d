package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/frame"
)

// listener is an open stream of a caller that subscribes to one resource.
type listener struct {
	name, uri string
	caller    *rogue
	session   string // empty: it is a subscriptions/listen
	resp      *http.Response
	done      chan struct{}

	mu     sync.Mutex
	events int
	last   time.Time // when the last change was reported
	lastID string
}

// follow reads the stream until its end.
func (l *listener) follow() {
	defer close(l.done)
	events := frame.NewReader(l.resp.Body, 1<<20)
	for {
		ev, err := events.Next()
		if err != nil {
			return
		}
		l.mu.Lock()
		if bytes.Contains(ev.Data, []byte("notifications/resources/updated")) {
			l.events, l.last = l.events+1, time.Now()
		}
		l.lastID = events.LastEventID()
		l.mu.Unlock()
	}
}

// told returns the number of changes that the stream has reported, and the time of the last.
func (l *listener) told() (int, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events, l.last
}

func (l *listener) over() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// listen opens a subscriptions/listen, or the standalone stream of a new session.
func listen(ctx context.Context, name string, caller *rogue, session bool) (*listener, error) {
	l := &listener{name: name, uri: "file:///a/" + strings.ReplaceAll(name, " ", "-"), caller: caller, done: make(chan struct{})}
	var err error
	if session {
		if l.session, err = caller.hello(ctx, `{"name":"listener","version":"1"}`); err != nil {
			return nil, err
		}
		a, err := caller.legacy(ctx, l.session, "resources/subscribe", `{"uri":"`+l.uri+`"}`)
		if err != nil || a.status != http.StatusOK || !bytes.Contains(a.body, []byte(`"result"`)) {
			return nil, fmt.Errorf("resources/subscribe: %v, %v", err, a)
		}
		l.resp, err = caller.open(ctx, http.MethodGet, "", sessionHeader(l.session)...)
		if err != nil {
			return nil, err
		}
	} else if l.resp, err = caller.open(ctx, http.MethodPost, caller.modernBody("subscriptions/listen", `,"notifications":{"resourceSubscriptions":["`+l.uri+`"]}`),
		modernHeader("subscriptions/listen", "")...); err != nil {
		return nil, err
	}
	if l.resp.StatusCode != http.StatusOK {
		_ = l.resp.Body.Close()
		return nil, fmt.Errorf("the stream of %s: %s", name, l.resp.Status)
	}
	go l.follow()
	return l, nil
}

// await waits until a condition holds of each of some streams.
func await(ctx context.Context, all []*listener, what string, holds func(*listener) bool) error {
	for end := time.Now().Add(2 * slack); ; pause(ctx, 20*time.Millisecond) {
		i := slices.IndexFunc(all, func(l *listener) bool { return !holds(l) })
		switch {
		case i < 0:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(end):
			n, last := all[i].told()
			return fmt.Errorf("%s: it is not %s after %v; it was told of %d changes, the last %v ago", all[i].name, what, 2*slack, n, time.Since(last))
		}
	}
}

// returns tries to go on with a stream that is over.
func (l *listener) returns(ctx context.Context) error {
	l.mu.Lock()
	lastID := l.lastID
	l.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	if l.session == "" {
		a, err := l.caller.modern(limited, "subscriptions/listen", "", `,"notifications":{"resourceSubscriptions":["`+l.uri+`"]}`)
		if err != nil || a.status != http.StatusUnauthorized {
			return fmt.Errorf("%s, once it is over, listens again: %v, %v", l.name, err, a)
		}
		return nil
	}
	for _, header := range [][]string{nil, {"Last-Event-ID", lastID}, {"Last-Event-ID", "0"}} {
		a, err := l.caller.send(limited, http.MethodGet, "", append(sessionHeader(l.session), header...)...)
		if err != nil || a.status != http.StatusUnauthorized && a.status != http.StatusNotFound {
			return fmt.Errorf("%s, once it is over, gets its stream again: %v, %v", l.name, err, a)
		}
	}
	return nil
}
