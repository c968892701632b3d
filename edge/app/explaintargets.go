package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// explained is what ExplainPolicy explains, and whether a backend lists it.
type explained struct {
	policy.Target
	listed bool
}

// everything reports whether the question is about all that is listed.
func (q *Question) everything() bool { return q.Tool+q.Prompt+q.Resource == "" }

// targets returns what the question is about, as an overlay shows it; nil if no backend has it, or the overlay hides it.
func (q *Question) targets(pool *backend.Pool, o *overlay.Overlay) (out []explained) {
	if q.Resource != "" {
		return q.resource(pool)
	}
	for _, t := range catalog.Targets(pool, o) {
		if q.everything() || t.Kind == policy.Tool && t.Name == q.Tool || t.Kind == policy.Prompt && t.Name == q.Prompt {
			out = append(out, explained{t, true})
		}
	}
	return out
}

// resource returns the template with the text of the question, or else the URI, which need not be
// listed.
func (q *Question) resource(pool *backend.Pool) []explained {
	read, found := catalog.ReadTarget(pool, q.Resource)
	listed := false
	for _, t := range catalog.Targets(pool, nil) {
		if t.Kind == policy.Template && t.Name == q.Resource {
			return []explained{{t, true}}
		}
		listed = listed || t.Kind == policy.Resource && t.Name == read.Name
	}
	if !found {
		return nil
	}
	return []explained{{read, listed}}
}

// notFound is the error of a question about what no backend has, of those that could be asked.
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
	return errors.New(text + ": without --tool, --prompt and --resource everything is explained that there is")
}

// unread is a backend that could not be asked for something, and why.
type unread struct{ backend, what, why string }

// unasked returns the backends that could not be asked for all of their lists.
func unasked(pool *backend.Pool) (out []unread) {
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

// tellBeyond writes to out, one line each, what the explanation lacks: backends that could not be
// asked, and quotas.
func tellBeyond(cfg *config.Config, missing []unread, out io.Writer) {
	for _, m := range missing {
		_, _ = fmt.Fprintf(out, "note    the backend %q could not be asked for %s, so what it has may be missing here: %s\n", m.backend, m.what, m.why)
	}
	if cfg.Kubernetes != nil {
		_, _ = fmt.Fprintln(out, "note    backends that are found in Kubernetes are not asked here: what they have is not explained")
	}
	if len(cfg.Quotas) > 0 {
		_, _ = fmt.Fprintln(out, "note    quotas are not part of this: what is allowed is refused with 429 when a quota is used up")
	}
}
