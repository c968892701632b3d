package app

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/certs"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/hook"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// openHook is a hook in use.
type openHook struct {
	settings config.Hook
	hook     *hook.Hook
	files    *certs.Source // nil means plaintext
}

func hookFiles(h *config.Hook) certs.Files {
	return certs.Files{Name: "hooks." + h.Name + ".tls", Cert: h.TLS.Cert, Key: h.TLS.Key, CA: h.TLS.CA}
}

// newHook makes the client of a hook.
func (a *App) newHook(s *config.OpenHook) (out openHook, err error) {
	out.settings = s.Hook
	o := hook.Options{
		Name: s.Name, Target: s.Target, Match: s.When, Timeout: s.Timeout, Open: s.Allows(), Concurrency: s.Concurrency,
		Audit: s.Audits(), Claims: s.Claims, Tracing: a.telemetry.Conn, Logger: a.log,
		Observe: a.telemetry.RecordHook,
	}
	for _, name := range s.On {
		if p, ok := hook.PointOf(name); ok {
			o.On = append(o.On, p)
		}
	}
	if s.TLS != nil {
		if out.files, err = a.tls.Open(hookFiles(&s.Hook), a.log); err != nil {
			return out, err
		}
		o.Credentials = out.files.Client(s.TLS.ServerName)
	}
	if out.hook, err = hook.New(o); err != nil {
		a.closeHook(out)
		return openHook{}, fmt.Errorf("hooks: %s: %w", s.Name, err)
	}
	return out, nil
}

// openHooks opens the hooks of a generation. It reuses hooks of was with equal settings. After an
// error the result has the hooks that were opened.
func (a *App) openHooks(g *config.Generation, was []openHook) (out []openHook, _ error) {
	for i := range g.Hooks {
		s := &g.Hooks[i]
		at := slices.IndexFunc(was, func(o openHook) bool { return o.settings.Revision() == s.Hook.Revision() })
		if at >= 0 {
			out = append(out, was[at])
			continue
		}
		h, err := a.newHook(s)
		if err != nil {
			return out, err
		}
		out = append(out, h)
	}
	return out, nil
}

// setHooks puts the hooks of a generation in force.
func (a *App) setHooks(g *generation) {
	list := make([]*hook.Hook, len(g.hooks))
	for i := range g.hooks {
		list[i] = g.hooks[i].hook
	}
	a.hooks.Store(hook.NewChain(list))
}

// lists returns the hooks of a generation that check lists, or nil if there are none.
func (g *generation) lists(log *slog.Logger) *hook.Lists {
	list := make([]*hook.Hook, len(g.hooks))
	for i := range g.hooks {
		list[i] = g.hooks[i].hook
	}
	return hook.NewLists(list, log)
}

// startHooks connects to the hooks of a generation, so that the first request need not wait for it.
func (a *App) startHooks(g *generation) {
	for _, h := range g.hooks {
		h.hook.Start()
	}
}

func sameHooks(a, b *generation) bool {
	return slices.EqualFunc(a.hooks, b.hooks, func(x, y openHook) bool { return x.hook == y.hook })
}

// releaseHooks closes the hooks of a generation that another one does not use.
func (a *App) releaseHooks(g, kept *generation) {
	for _, h := range g.hooks {
		if !slices.ContainsFunc(kept.hooks, func(o openHook) bool { return o.hook == h.hook }) {
			a.closeHook(h)
		}
	}
}

// closeHook closes the connection to a hook once no request uses it.
func (a *App) closeHook(h openHook) {
	if h.hook != nil {
		h.hook.Close()
	}
	if h.files != nil {
		a.tls.Remove(h.files)
	}
}

// ReportHooks writes to out which hooks check what. Without any in the settings it writes nothing.
func ReportHooks(cfg config.Config, out io.Writer) {
	for i := range cfg.Hooks {
		h := &cfg.Hooks[i]
		follows := "denied"
		if h.Allows() {
			follows = "passed"
		}
		effect := ""
		if h.Audits() {
			effect = "; its verdicts are recorded only, by mode: audit"
		}
		_, _ = fmt.Fprintf(out, "info    hooks: %s at %s checks each %s; without its response within %s the message is %s%s\n",
			h.Name, h.Target, strings.Join(h.On, ", "), cmp.Or(h.Timeout, hook.DefaultTimeout), follows, effect)
	}
}

// observeHooks registers the metrics of hooks with telemetry.
func (a *App) observeHooks() []error {
	each := func(fn func(*hook.Hook)) {
		for _, h := range a.hooks.Load().Hooks() {
			fn(h)
		}
	}
	return []error{
		a.telemetry.Observe(telemetry.HookBreaker, func(emit telemetry.Emit) {
			each(func(h *hook.Hook) { emit(one(h.IsOpen()), telemetry.AttrHook.String(h.Name())) })
		}),
	}
}
