package redact

import "slices"

// Place is where a text is about to appear.
type Place uint8

// The places.
const (
	// Results is what a client gets for its request: results, resources, prompts, completions, and errors.
	Results Place = iota
	// Questions is what clients are asked: forms, messages for models, confirmations.
	Questions
	// Progress is the messages of progress.
	Progress
	// Logs is the log of the edge, and the log messages that backends send to clients.
	Logs
	// Spans is the spans that are exported.
	Spans
	// Audit is the records of the audit.
	Audit
	// Dev is the page for developers.
	Dev
	placeCount
)

var placeNames = [placeCount]string{"results", "questions", "progress", "logs", "spans", "audit", "dev"}

// String returns the name in the setting.
func (p Place) String() string { return placeNames[p] }

// About is what a text comes from. The zero value is unknown: then all rules apply.
type About struct {
	// Backend is the configured name of a backend.
	Backend string
	// Tool is the canonical name of a tool. Empty means that it is no call of a tool.
	Tool string
}

// View is the rules that apply in a place. A nil View changes nothing. It is safe for concurrent use.
type View struct {
	place    Place
	patterns []*rule
	paths    []*rule
	// weight is the cost of a byte, of the rules that replace.
	weight int64
	// enforced is whether a rule replaces what it finds.
	enforced bool
	over     *count
	// dry is whether a rule only counts; note gets the name of one that found something, and may be nil.
	dry  bool
	note func(rule string)
}

// Noting returns a View that calls note with the name of each rule that found something and replaces nothing, perhaps repeatedly.
func (v *View) Noting(note func(rule string)) *View {
	if v == nil || !v.dry {
		return v
	}
	own := *v
	own.note = note
	return &own
}

// would counts what a rule found n times that replaces nothing.
func (v *View) would(r *rule, n int) {
	r.counts[v.place].would.Add(int64(n))
	if n > 0 && v.note != nil {
		v.note(r.name)
	}
}

// View returns the rules for a place; nil if none applies. m may be nil.
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
