package redact

import "slices"

// Place is a destination of texts.
type Place uint8

// The places.
const (
	// Results are the responses to clients: results, resources, prompts, completions and errors.
	Results Place = iota
	// Questions are the requests to clients: forms, messages for models, confirmations.
	Questions
	// Progress are the messages of progress.
	Progress
	// Logs are the log of the edge, and the log messages that backends send to clients.
	Logs
	// Spans are the exported spans.
	Spans
	// Audit are the records of the audit.
	Audit
	// Dev is the page for developers.
	Dev
	placeCount
)

var placeNames = [placeCount]string{"results", "questions", "progress", "logs", "spans", "audit", "dev"}

// String returns the name of the place in the setting.
func (p Place) String() string { return placeNames[p] }

// About is the origin of a text. The zero value means that it is unknown: then all rules apply.
type About struct {
	// Backend is the configured name of a backend.
	Backend string
	// Tool is the canonical name of a tool. Empty means that the text is not from a call of a tool.
	Tool string
}

// View has the rules that apply in a place. A nil View changes nothing. It is safe for concurrent
// use.
type View struct {
	place    Place
	patterns []*rule
	paths    []*rule
	// weight is the cost of each byte for the rules that replace.
	weight int64
	// enforced is true if a rule replaces its matches.
	enforced bool
	over     *count
	// dry is true if a rule only counts. note is called with the names of such rules that match; it
	// may be nil.
	dry  bool
	note func(rule string)
}

// Noting returns a View that calls note with the name of each rule in audit mode that matches. It
// may repeat names.
func (v *View) Noting(note func(rule string)) *View {
	if v == nil || !v.dry {
		return v
	}
	own := *v
	own.note = note
	return &own
}

// countAudited counts n matches of a rule in audit mode.
func (v *View) countAudited(r *rule, n int) {
	r.counts[v.place].would.Add(int64(n))
	if n > 0 && v.note != nil {
		v.note(r.name)
	}
}

// View returns the rules for a place, or nil if none applies. m may be nil.
func (m *Masker) View(place Place, about About) *View {
	if m == nil {
		return nil
	}
	if !m.limited || about == (About{}) {
		return m.views[place]
	}
	return m.view(place, func(r *rule) bool {
		return (r.backends == nil || r.backends.Match(about.Backend)) && (r.tools == nil || about.Tool != "" && r.tools.Match(about.Tool))
	})
}

func (m *Masker) view(place Place, applies func(*rule) bool) *View {
	v := &View{place: place, over: m.over[place]}
	for _, r := range m.rules {
		if !r.in[place] || !applies(r) {
			continue
		}
		v.enforced, v.dry = v.enforced || !r.dry, v.dry || r.dry
		if r.find == nil {
			v.paths = append(v.paths, r)
			continue
		}
		if v.patterns = append(v.patterns, r); !r.dry {
			v.weight += r.weight
		}
	}
	if len(v.patterns)+len(v.paths) == 0 {
		return nil
	}
	v.weight = max(v.weight, 1)
	v.patterns, v.paths = slices.Clip(v.patterns), slices.Clip(v.paths)
	return v
}
