package app

import (
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/time/rate"

	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// foreign counts and logs the requests that are refused for their host or origin: of each reason,
// and on each listener, the first at once, then one line every refusalsEvery with the number since.
// It is safe for concurrent use.
type foreign struct {
	log     *slog.Logger
	proxies web.Proxies

	mu sync.Mutex
	// counts has all of web.Reasons; lines has those of a listener that occurred.
	counts map[string]int
	lines  map[foreignOf]*refusalsOf
}

// foreignOf is a reason and the listener on which it occurred.
type foreignOf struct{ listener, reason string }

func newForeign(log *slog.Logger, proxies web.Proxies) *foreign {
	return &foreign{log: log, proxies: proxies, counts: map[string]int{}, lines: map[foreignOf]*refusalsOf{}}
}

// on returns the function for the option Refused of a listener.
func (f *foreign) on(listener string) func(r *http.Request, reason, message string) {
	return func(r *http.Request, reason, message string) { f.refused(listener, r, reason, message) }
}

func (f *foreign) refused(listener string, r *http.Request, reason, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[reason]++
	what := foreignOf{listener, reason}
	of := f.lines[what]
	if of == nil {
		of = &refusalsOf{sometimes: rate.Sometimes{Interval: refusalsEvery}}
		f.lines[what] = of
	}
	of.times++
	of.sometimes.Do(func() {
		f.log.Info("a request was refused for its host or origin", "reason", reason, "listener", listener,
			"address", addressText(f.proxies.Address(r)), "error", message, "refused", of.times)
		of.times = 0
	})
}

// observe registers the counts with telemetry.
func (f *foreign) observe(t *telemetry.Telemetry) error {
	return t.Observe(telemetry.HTTPRefused, func(emit telemetry.Emit) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, reason := range slices.Sorted(slices.Values(web.Reasons)) {
			emit(float64(f.counts[reason]), telemetry.AttrForeign.String(reason))
		}
	})
}
