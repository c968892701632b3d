package backend

import (
	"cmp"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Outliers says when an address of a target is ejected, which means that it gets no calls for a
// while, because calls fail there and not elsewhere. It is gRPC's outlier detection by failure
// percentage (proposal A50), except for which statuses count as failures. A zero field selects its
// default.
type Outliers struct {
	// Interval is the interval at which addresses are judged by the calls since the last time. 0
	// means DefaultOutlierInterval.
	Interval time.Duration
	// Ejection is the duration of the first ejection. Each consecutive one is longer by as much, up
	// to ten times the first. 0 means DefaultOutlierEjection.
	Ejection time.Duration
	// Failures is the percentage of failed calls from which on an address is an outlier; 0 means
	// DefaultOutlierFailures.
	Failures int
	// Calls is the minimum number of an address's calls in an interval for a judgement. 0 means
	// DefaultOutlierCalls.
	Calls int
	// MaxEjected is the percentage of ejected addresses at which no further address is ejected. One
	// address may always be ejected; 0 means DefaultOutlierMaxEjected.
	MaxEjected int
}

// Defaults of Outliers.
const (
	DefaultOutlierInterval   = 10 * time.Second
	DefaultOutlierEjection   = 30 * time.Second
	DefaultOutlierFailures   = 85
	DefaultOutlierCalls      = 50
	DefaultOutlierMaxEjected = 50
)

// maxEjections bounds the duration of an ejection, as a multiple of Ejection.
const maxEjections = 10

// withDefaults returns a copy with defaults in place of zeros; nil for nil.
func (o *Outliers) withDefaults() *Outliers {
	if o == nil {
		return nil
	}
	return &Outliers{
		Interval: cmp.Or(o.Interval, DefaultOutlierInterval), Ejection: cmp.Or(o.Ejection, DefaultOutlierEjection),
		Failures: cmp.Or(o.Failures, DefaultOutlierFailures), Calls: cmp.Or(o.Calls, DefaultOutlierCalls),
		MaxEjected: cmp.Or(o.MaxEjected, DefaultOutlierMaxEjected),
	}
}

// errEjected is the connection error of an ejected address.
var errEjected = errors.New("its calls failed while those of other addresses succeeded: it gets none for a while (outlier-detection)")

// detector judges the addresses of a target. Safe for concurrent use.
type detector struct {
	o      Outliers
	target string
	done   chan struct{}

	mu        sync.Mutex
	addresses map[string]*addressStats
}

// addressStats is an address that is judged. detector.mu guards the fields that are not atomic.
type addressStats struct {
	name string
	// calls and failed count the calls that ended since the address was last judged.
	calls, failed atomic.Int64
	connections   map[*address]struct{}
	ejected       bool
	since         time.Time // of the ejection
	// times counts ejections; each interval without one decrements it.
	times int
}

// newDetector starts a detector. close ends it.
func newDetector(o Outliers, target string) *detector {
	d := &detector{o: o, target: target, done: make(chan struct{}), addresses: map[string]*addressStats{}}
	go d.run()
	return d
}

func (d *detector) run() {
	interval := time.NewTicker(d.o.Interval)
	defer interval.Stop()
	for {
		select {
		case now := <-interval.C:
			d.evaluate(now)
		case <-d.done:
			return
		}
	}
}

// close ends the detector. It is called once.
func (d *detector) close() { close(d.done) }

// join adds a connection to an address.
func (d *detector) join(name string, a *address) *addressStats {
	d.mu.Lock()
	defer d.mu.Unlock()
	j := d.addresses[name]
	if j == nil {
		j = &addressStats{name: name, connections: map[*address]struct{}{}}
		d.addresses[name] = j
	}
	j.connections[a] = struct{}{}
	a.eject(j.ejected)
	return j
}

// leave removes a connection. An address without one is forgotten.
func (d *detector) leave(j *addressStats, a *address) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if delete(j.connections, a); len(j.connections) == 0 && d.addresses[j.name] == j {
		delete(d.addresses, j.name)
	}
}

// count counts a call that ended. Statuses that callers cause do not count as failures of the
// address.
func (j *addressStats) count(err error) {
	j.calls.Add(1)
	switch status.Code(err) {
	case codes.Unknown, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Unimplemented, codes.Internal, codes.Unavailable, codes.DataLoss:
		j.failed.Add(1)
	}
}

// evaluate ejects addresses by the calls since its previous run, and readmits those whose ejection is
// over. If fewer than two addresses had enough calls, it ejects none, since there is nothing to
// compare with.
func (d *detector) evaluate(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	enough, ejected := 0, 0
	var outliers []*addressStats
	for _, j := range d.addresses {
		calls, failed := j.calls.Swap(0), j.failed.Swap(0)
		judgedNow := calls >= int64(d.o.Calls)
		if judgedNow {
			enough++
		}
		switch {
		case j.ejected && now.Sub(j.since) >= d.ejectionTime(j):
			d.set(j, false)
		case j.ejected:
			ejected++
		case judgedNow && failed*100 >= calls*int64(d.o.Failures):
			outliers = append(outliers, j)
		default:
			j.times = max(j.times-1, 0)
		}
	}
	if enough < 2 {
		return
	}
	for _, j := range outliers {
		if ejected > 0 && ejected*100 >= d.o.MaxEjected*len(d.addresses) {
			return
		}
		ejected++
		j.since, j.times = now, j.times+1
		d.set(j, true)
	}
}

// ejectionTime returns the duration of an ejection.
func (d *detector) ejectionTime(j *addressStats) time.Duration {
	return d.o.Ejection * time.Duration(min(j.times, maxEjections))
}

// set ejects an address, or readmits it. d.mu is locked.
func (d *detector) set(j *addressStats, ejected bool) {
	j.ejected = ejected
	for a := range j.connections {
		a.eject(ejected)
	}
	if ejected {
		slog.Warn("an address of a target gets no calls for a while, because they fail there, and succeed at other addresses", "target", d.target, "address", j.name,
			"for", d.ejectionTime(j))
		return
	}
	slog.Info("an address of a target gets calls again", "target", d.target, "address", j.name)
}
