package app

import (
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// refusalsEvery is the shortest interval between log lines about refusals for one reason, by
// listener.
const refusalsEvery = 10 * time.Second

// observedAuthenticator logs, and records if there is an audit, which credentials another
// authenticator refuses.
type observedAuthenticator struct {
	web.Authenticator
	listener string
	proxies  web.Proxies
	log      *refusals
	// records may be nil.
	records *audit.Log
}

// observed returns an authenticator whose refusals are logged and recorded.
func (a *App) observed(listener string, of web.Authenticator) web.Authenticator {
	return observedAuthenticator{of, listener, a.proxies, &refusals{log: a.log}, a.audit}
}

// Authenticate implements web.Authenticator.
func (o observedAuthenticator) Authenticate(r *http.Request) (mcp.Principal, *web.Denial) {
	p, denied := o.Authenticator.Authenticate(r)
	if denied == nil {
		return p, nil
	}
	address := o.proxies.Address(r)
	o.log.refused(o.listener, address, denied)
	if o.records == nil {
		return mcp.Principal{}, denied
	}
	effect := audit.Deny
	if len(denied.Missing) > 0 {
		effect = audit.StepUp
	}
	who := audit.WhoOf(&denied.Caller)
	who.Issuer = denied.Issuer
	err := o.records.Decided(r.Context(), &audit.Record{
		Who: who, Listener: o.listener, Address: addressText(address), Trace: telemetry.TraceOf(r.Header),
		Verdict: audit.Verdict{Effect: effect, By: audit.ByAuthentication, Rule: denied.Reason, Missing: denied.Missing},
	}, audit.CallArguments{})
	if err != nil {
		e := mcp.AsError(err)
		return mcp.Principal{}, &web.Denial{Status: http.StatusServiceUnavailable, Message: e.Message, RetryAfter: e.RetryAfter}
	}
	return mcp.Principal{}, denied
}

// addressText formats an address for records. It is empty for the zero Addr, as for a Unix socket.
func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// Watch implements web.Watcher if the other authenticator does.
func (o observedAuthenticator) Watch(authorization string, p mcp.Principal, fn func()) (stop func()) {
	if w, ok := o.Authenticator.(web.Watcher); ok {
		return w.Watch(authorization, p, fn)
	}
	return nil
}

// Challenge implements web.Challenger if the other authenticator does. The decision is recorded
// already.
func (o observedAuthenticator) Challenge(path string, c *mcp.Challenge) *web.Denial {
	if by, ok := o.Authenticator.(web.Challenger); ok {
		return by.Challenge(path, c)
	}
	return nil
}

// refusals logs refused credentials: the first of a reason, or of an API key and reason, at once,
// then one line every refusalsEvery with the number since, so that callers cannot fill the log. It
// is safe for concurrent use.
type refusals struct {
	log *slog.Logger

	mu sync.Mutex
	// reasons has the reasons that occurred, of the few that Denial.Reason has, with the names of
	// API keys that are, or were, in their file.
	reasons map[refusalOf]*refusalsOf
}

// refusalOf is a reason and the name of an API key; empty for other credentials.
type refusalOf struct{ reason, key string }

// refusalsOf counts those of one reason. times is the number since the last line. Guarded by
// refusals.mu.
type refusalsOf struct {
	sometimes rate.Sometimes
	times     int
}

// refused logs a refusal, without any part of the credentials but the issuer or audiences that they
// name, and the subject of those that are known.
func (f *refusals) refused(listener string, address netip.Addr, d *web.Denial) {
	f.mu.Lock()
	defer f.mu.Unlock()
	what := refusalOf{reason: d.Reason}
	if d.Caller.Issuer == auth.APIKeyIssuer {
		what.key = d.Caller.Subject
	}
	of := f.reasons[what]
	if of == nil {
		if f.reasons == nil {
			f.reasons = map[refusalOf]*refusalsOf{}
		}
		of = &refusalsOf{sometimes: rate.Sometimes{Interval: refusalsEvery}}
		f.reasons[what] = of
	}
	of.times++
	of.sometimes.Do(func() {
		about := []any{"reason", d.Reason, "status", d.Status, "listener", listener, "address", addressText(address),
			"issuer", d.Issuer, "error", d.Message, "refused", of.times}
		if d.Caller.Subject != "" {
			about = append(about, "subject", d.Caller.Subject)
		}
		if d.Detail != "" {
			about = append(about, "detail", d.Detail)
		}
		f.log.Info("credentials were refused", about...)
		of.times = 0
	})
}
