package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// explained is what ExplainPolicy explains, the name by which clients see it, and whether a backend
// lists it.
type explained struct {
	policy.Target
	shown  string
	listed bool
	// searched means that clients find it by a search of its set, not in the list.
	searched bool
	// arguments are the catalog's changes of its arguments.
	arguments []overlay.Argument
	// trials are its pinned arguments in audit mode.
	trials []overlay.Argument
}

// everything reports whether the question is about all that is listed.
func (q *Question) everything() bool { return q.Tool+q.Prompt+q.Resource == "" }

// targets returns the targets of the question, as an overlay and a set show them. It returns nil if
// no backend has the target, if the overlay hides it, or if the set does not have it. Both may be
// nil.
func (q *Question) targets(pool *backend.Pool, o *overlay.Overlay, set *overlay.Set, who *mcp.Principal) (out []explained) {
	if q.Resource != "" {
		return q.resource(pool, o, set, who)
	}
	is := func(t *catalog.Listed, asked string) bool { return t.Name == asked || slices.Contains(t.Shown, asked) }
	for _, t := range catalog.Targets(pool, o, set) {
		if q.everything() || t.Kind == policy.Tool && is(&t, q.Tool) || t.Kind == policy.Prompt && is(&t, q.Prompt) {
			out = append(out, explained{t.Target, t.Shown[0], true, t.Searched, t.Arguments, t.Trials})
		}
	}
	return out
}

// hidden returns what hides the question's target from every caller. It is empty if nothing does.
func (q *Question) hidden(pool *backend.Pool, o *overlay.Overlay, who *mcp.Principal) string {
	switch {
	case q.Tool != "":
		return catalog.Hidden(pool, o, policy.Tool, q.Tool)
	case q.Prompt != "":
		return catalog.Hidden(pool, o, policy.Prompt, q.Prompt)
	case len(q.resource(pool, nil, nil, who)) > 0:
		return fmt.Sprintf("catalog hides %q", q.Resource)
	}
	return ""
}

// resource returns the template with the text of the question, or else the URI, which need not be
// listed.
func (q *Question) resource(pool *backend.Pool, o *overlay.Overlay, set *overlay.Set, who *mcp.Principal) []explained {
	read, found := catalog.ReadTarget(pool, o, set, who, q.Resource)
	listed := false
	for _, t := range catalog.Targets(pool, o, set) {
		if t.Kind == policy.Template && t.Name == q.Resource {
			return []explained{{Target: t.Target, shown: t.Name, listed: true}}
		}
		listed = listed || t.Kind == policy.Resource && t.Name == read.Name
	}
	if !found {
		return nil
	}
	return []explained{{Target: read, shown: read.Name, listed: listed}}
}

// notFound returns the error for a target that no reachable backend has.
func (q *Question) notFound(missing []unread) error {
	text := fmt.Sprintf("policy: no backend has a tool %q now", q.Tool)
	switch {
	case q.Prompt != "":
		text = fmt.Sprintf("policy: no backend has a prompt %q now", q.Prompt)
	case q.Resource != "":
		text = fmt.Sprintf("policy: no backend has a resource or template %q now", q.Resource)
	}
	for _, m := range missing {
		text += fmt.Sprintf("; the backend %q could not be asked for %s: %s", m.backend, m.what, m.why)
	}
	return errors.New(text + ": without --tool, --prompt and --resource, all objects are explained")
}

// askBackends connects to the configured backends and reads their lists, for a command. missing has
// those that could not be asked. The caller closes the pool.
func askBackends(ctx context.Context, cfg config.Config) (pool *backend.Pool, missing []unread, err error) {
	silent := slog.New(slog.DiscardHandler)
	backends, err := (&opener{tls: new(ends), with: noIdentity, log: silent}).open(&cfg, nil)
	if err != nil {
		return nil, nil, err
	}
	if pool, err = newPool(backends, silent, nil); err != nil {
		return nil, nil, err
	}
	pool.Start(ctx)
	bounded, cancel := context.WithTimeout(ctx, cfg.Advanced.StartWait)
	defer cancel()
	_ = pool.Ready(bounded) // an error is of backends that unreadBackends names
	return pool, unreadBackends(pool), nil
}

// unread is a backend that could not be asked for something, and why.
type unread struct{ backend, what, why string }

// unreadBackends returns the backends that could not be asked for all of their lists.
func unreadBackends(pool *backend.Pool) (out []unread) {
	for _, b := range pool.Backends() {
		c, s := b.Catalog(), b.Status()
		if c.Present && c.Unread == 0 {
			continue
		}
		m := unread{backend: b.Name(), what: "its lists", why: strings.Join(s.Problems, "; ")}
		if m.why == "" {
			m.why = cmp.Or(s.LastError, "it has not answered yet")
		}
		if c.Present {
			m.what = "all of its lists"
		}
		out = append(out, m)
	}
	return out
}

// reportExcluded writes to out, as one line each, what the explanation does not include: unreachable
// backends, and quotas.
func reportExcluded(cfg *config.Config, missing []unread, out io.Writer) {
	for _, m := range missing {
		_, _ = fmt.Fprintf(out, "note    the backend %q could not be asked for %s, so what it has may be missing here: %s\n", m.backend, m.what, m.why)
	}
	for _, o := range cfg.Owners() {
		if o.Err != nil {
			_, _ = fmt.Fprintf(out, "note    the files of the owner %q cannot be used: its backends are hidden here: %s\n", o.Name, o.Err)
		}
	}
	if cfg.Kubernetes != nil {
		_, _ = fmt.Fprintln(out, "note    backends that are found in Kubernetes are not asked here: what they have is not explained")
	}
	if len(cfg.Quotas) > 0 {
		_, _ = fmt.Fprintln(out, "note    quotas are not part of this: what is allowed is refused with 429 when a quota is used up")
	}
}
