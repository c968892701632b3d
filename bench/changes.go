package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mcpedge/mcpedge/bench/internal/load"
)

const (
	// listeners are the streams that hear of a change.
	listeners = 1000
	// patience is how long they may take.
	patience = 30 * time.Second
	// quiet is how long nothing more may come before the next change.
	quiet = 50 * time.Millisecond
)

var changing = tool("change", `{}`, "changed at ")

// changesCase is how long it takes from a change of the tools, by the clock of whose tools they are, until
// half of the listeners and the last one have been told. CPU time is that of one change. The SDK's server
// may take other flags to stream.
func changesCase(e era, sdkFlags ...string) benchCase {
	return benchCase{name: e.name + "-changes-1000", rounds: some,
		claims: []claim{ratio(medianLag, "edge", "sdk"), ratio(lastLag, "edge", "sdk")},
		start: func(f *fleet) ([]subject, error) {
			servers, _, err := f.edgeAndSDK(append(sdkFlags, e.sdk...)...)
			if err != nil {
				return nil, err
			}
			var subjects []subject
			for _, s := range servers {
				one, err := f.listening(e, s)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", s.name, err)
				}
				subjects = append(subjects, one)
			}
			return subjects, nil
		}}
}

// listening is the subject whose listeners are open.
func (f *fleet) listening(e era, s server) (subject, error) {
	c, err := e.connect(s.proc.addr, nil)
	if err != nil {
		return subject{}, err
	}
	var streams load.Streams
	if e.name == legacy.name {
		streams, err = openSessions(s.proc.addr, listeners)
	} else {
		listen := c("subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`, "")
		streams, err = load.OpenStreams(s.proc.addr, listeners, func(*load.Conn) (load.Request, error) { return listen, nil })
	}
	if err != nil {
		return subject{}, err
	}
	f.onStop(streams.Close)
	arrivals := streams.Watch("notifications/tools/list_changed")
	change := c(changing.method, changing.target, changing.params, "")
	return subject{name: s.name, proc: s.proc, round: func(time.Duration) (sample, error) { return changed(s.proc.addr, change, arrivals) }}, nil
}

// changed makes a change and awaits all arrivals.
func changed(addr string, change load.Request, arrivals <-chan time.Time) (sample, error) {
	var at time.Time
	if err := load.Once(addr, func(c *load.Conn) (err error) {
		a, err := c.Do(change)
		if err == nil {
			at, err = changeTime(a)
		}
		return err
	}); err != nil {
		return sample{}, err
	}
	var lags []time.Duration
	timeout := time.After(patience)
	for len(lags) < listeners {
		select {
		case t, open := <-arrivals:
			if !open {
				return sample{}, errors.New("the streams ended")
			}
			lags = append(lags, t.Sub(at))
		case <-timeout:
			return sample{}, fmt.Errorf("%d of %d streams heard of the change in %s", len(lags), listeners, patience)
		}
	}
	for more := true; more; {
		select {
		case _, more = <-arrivals:
		case <-time.After(quiet):
			more = false
		}
	}
	slices.Sort(lags)
	return sample{calls: 1, values: map[metric]float64{medianLag: millis(lags[len(lags)/2]), lastLag: millis(lags[len(lags)-1])}}, nil
}

// changeTime is what the tool says.
func changeTime(a load.Answer) (time.Time, error) {
	_, rest, ok := bytes.Cut(a.Body, []byte(changing.want))
	digits, _, _ := bytes.Cut(rest, []byte(`"`))
	ns, err := strconv.ParseInt(string(digits), 10, 64)
	if a.Status != 200 || !ok || err != nil {
		return time.Time{}, fmt.Errorf("the change: status %d: %.300q", a.Status, a.Body)
	}
	return time.Unix(0, ns), nil
}
