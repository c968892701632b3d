package app

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/transport/sse"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// endpoints are the paths at which everything is served, and below which sets are, each at its name.
var endpoints = []string{endpointPath, sse.StreamPath, sse.MessagePath}

// setAt returns the set that a path serves. It is empty for the root with root: all. served is
// false if the path can serve nothing, whatever the sets are.
func setAt(cfg *config.Config, path string) (set string, served bool) {
	for _, endpoint := range endpoints {
		rest, below := strings.CutPrefix(path, endpoint)
		switch {
		case !below:
		case rest == "" || rest == "/":
			return cfg.RootSet()
		case rest[0] == '/':
			name := strings.TrimSuffix(rest[1:], "/")
			return name, name != "" && !strings.Contains(name, "/")
		}
	}
	return "", true
}

// servesSets reports whether some endpoint may serve a part of what there is. Settings that are read
// again may have sets later.
func servesSets(cfg *config.Config) bool {
	return len(cfg.Sets) > 0 || cfg.File != "" || cfg.Root != ""
}

// authSets returns the sets of a generation, as clients and their authorization servers see them.
func authSets(g *config.Generation) (out []auth.Set) {
	for _, name := range slices.Sorted(maps.Keys(g.Sets)) {
		s := g.Sets[name]
		one := auth.Set{Endpoints: []string{endpointPath + "/" + name}, Title: s.Title, Scopes: s.Scopes, AcceptRoot: s.AcceptRoot}
		if g.Config.Listen.SSE {
			one.Endpoints = append(one.Endpoints, sse.StreamPath+"/"+name)
		}
		out = append(out, one)
	}
	return out
}

// setGuard is the authenticator of endpoints that serve sets. It refuses callers that may not use
// the set of the path.
type setGuard struct {
	a *App
	// next authenticates. nil makes every caller anonymous.
	next web.Authenticator
}

var (
	_ web.Authenticator = setGuard{}
	_ web.Watcher       = setGuard{}
	_ web.Challenger    = setGuard{}
)

// noEndpoint returns the response at a path that serves nothing, or a set that the caller may not
// use. It does not distinguish these.
func noEndpoint() *web.Denial {
	return &web.Denial{Status: http.StatusNotFound, Message: "there is no MCP endpoint at this path: check its address"}
}

// Authenticate implements web.Authenticator.
func (g setGuard) Authenticate(r *http.Request) (who mcp.Principal, denied *web.Denial) {
	name, served := setAt(&g.a.cfg, r.URL.Path)
	for {
		in := g.a.current.Load()
		if !served || name != "" && in.Sets[name] == nil {
			return who, noEndpoint()
		}
		if g.next != nil {
			if who, denied = g.next.Authenticate(r); denied != nil {
				return who, denied
			}
		}
		if name == "" {
			return who, nil
		}
		if g.a.current.Load() != in {
			continue // The principal may lack claims that the conditions in force read. A DPoP proof is then refused as used.
		}
		set := in.Sets[name]
		if set.When == nil && len(set.Scopes) == 0 { // open to all: no call of refuse, which allocates
			return who, nil
		}
		if denied = g.refuse(r, in, set, who); denied != nil {
			return mcp.Principal{}, denied
		}
		return who, nil
	}
}

// refuse returns why a caller may not use a set, and records it, or nil.
func (g setGuard) refuse(r *http.Request, in *generation, set *config.OpenSet, caller mcp.Principal) *web.Denial {
	who := &caller
	denied, v := (*web.Denial)(nil), audit.Verdict{By: audit.BySet, Rule: set.Name}
	missing, open, failure := mayUse(in.Policy, set, who)
	if failure != nil {
		g.a.failedSets.report(g.a.log, set, failure)
	}
	switch {
	case !open:
		denied, v.Effect = noEndpoint(), audit.Hide
	case len(missing) > 0:
		denied, v.Effect, v.Missing = g.lacking(r, set, who), audit.StepUp, missing
	default:
		return nil
	}
	if g.a.audit == nil {
		return denied
	}
	err := g.a.audit.Decided(r.Context(), &audit.Record{
		Who: audit.WhoOf(who), Set: set.Name, Listener: "mcp", Address: addressText(g.a.proxies.Address(r)), Trace: telemetry.TraceOf(r.Header), Verdict: v,
	}, audit.CallArguments{})
	if err != nil && v.Effect != audit.Hide {
		e := mcp.AsError(err)
		return &web.Denial{Status: http.StatusServiceUnavailable, Message: e.Message, RetryAfter: e.RetryAfter}
	}
	return denied
}

// lacking returns the response to a caller without the scopes of a set.
func (g setGuard) lacking(r *http.Request, set *config.OpenSet, who *mcp.Principal) *web.Denial {
	denied := g.Challenge(r.URL.Path, &mcp.Challenge{Scopes: set.Scopes, Anonymous: who.Anonymous()})
	if denied == nil {
		denied = &web.Denial{Status: http.StatusForbidden}
	}
	denied.Message = "this endpoint needs the scopes " + strings.Join(set.Scopes, " ") + ": call again with credentials that have them"
	return denied
}

// failedSets remembers the sets whose condition could not be evaluated, which is logged once for each
// condition.
type failedSets struct{ last sync.Map }

func (f *failedSets) report(log *slog.Logger, set *config.OpenSet, err error) {
	was, known := f.last.Swap(set.Name, set.When)
	if known && was == any(set.When) {
		return
	}
	if set.Place != "" {
		err = fmt.Errorf("%s: %w", set.Place, err)
	}
	log.Warn("the condition of a set could not be evaluated, so the caller cannot use the set: test with has() whether a claim exists", "set", set.Name, "error", err)
}

// mayUse reports whether a set is open to a caller, and which of its scopes the caller lacks. A
// condition that cannot be evaluated, for the reason of failure, closes it. p may be nil.
func mayUse(p *policy.Policy, set *config.OpenSet, who *mcp.Principal) (missing []string, open bool, failure error) {
	if set.When != nil {
		if holds, err := set.When.Holds(who); !holds {
			return nil, false, err
		}
	}
	for _, scope := range set.Scopes {
		if !p.Includes(who.Scopes, scope) {
			missing = append(missing, scope)
		}
	}
	return missing, true, nil
}

// Watch implements web.Watcher.
func (g setGuard) Watch(authorization string, p mcp.Principal, fn func()) (stop func()) {
	if w, ok := g.next.(web.Watcher); ok {
		return w.Watch(authorization, p, fn)
	}
	return nil
}

// Challenge implements web.Challenger.
func (g setGuard) Challenge(path string, c *mcp.Challenge) *web.Denial {
	if by, ok := g.next.(web.Challenger); ok {
		return by.Challenge(path, c)
	}
	return nil
}

// atSets returns a handler that passes the set of the path to another one.
func (a *App) atSets(serve func(w http.ResponseWriter, r *http.Request, set string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		set, _ := setAt(&a.cfg, r.URL.Path)
		serve(w, r, set)
	})
}

// mount mounts a handler at an endpoint and, if there may be sets, at those below it.
func (a *App) mount(mux *http.ServeMux, endpoint string, h http.Handler) {
	patterns := []string{endpoint, endpoint + "/{$}"}
	if servesSets(&a.cfg) {
		patterns = append(patterns, endpoint+"/{set}", endpoint+"/{set}/{$}")
	}
	for _, pattern := range patterns {
		mux.Handle(pattern, h)
	}
}

// stdioSet returns the set of the client over stdio, which is anonymous.
func (a *App) stdioSet() (string, error) {
	name := a.cfg.StdioSet()
	if _, served := a.cfg.RootSet(); !served && name == "" {
		return "", fmt.Errorf("root: %q serves nothing: name a set with --set", a.cfg.Root)
	}
	set := a.current.Load().Sets[name]
	switch {
	case set == nil && name != "":
		return "", fmt.Errorf("there is no set %q", name)
	case set == nil:
		return "", nil
	}
	missing, open, _ := mayUse(a.current.Load().Policy, set, &mcp.Principal{})
	switch {
	case !open:
		return "", fmt.Errorf("sets.%s.when: it is not true for a caller over stdio, who has no credentials", name)
	case len(missing) > 0:
		return "", fmt.Errorf("sets.%s.scopes: a caller over stdio has no credentials, and so not the scopes %s", name, strings.Join(missing, " "))
	}
	return name, nil
}
