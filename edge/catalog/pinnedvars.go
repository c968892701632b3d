package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// pinnedVariables are the templates with pinned variables of a view. nil means none. It is immutable.
type pinnedVariables struct {
	// pins are the different pins. Callers have a value of each, see valuesFor.
	pins []overlay.Argument
	// by has the templates of each backend. A template that the backend does not list now, or that
	// is hidden, is among them.
	by map[*backend.Backend][]*pinnedTemplate
	// listed has what the entries of the lists of resources and skills need of callers. It omits those
	// that need nothing. It is made at its first use.
	listed func() map[neededBy]need
}

// pinnedTemplate is a template with pinned variables.
type pinnedTemplate struct {
	text string
	// parsed is nil if the text is no template.
	parsed    *uris.Template
	variables []pinnedVariable
	// impossible is why the variables cannot be pinned. Then no caller reads its URIs.
	impossible error
}

// pinnedVariable is a variable with the index of its pin.
type pinnedVariable struct {
	overlay.Argument
	pin      int
	readings *uris.Readings
}

// need is what a URI needs of its callers: the values of pins by their index. never means that no
// caller reads it.
type need struct {
	values map[int]string
	never  bool
}

// neededBy is an entry of a list, of a backend with a name.
type neededBy struct {
	list       listKind
	owner, key string
}

// pinned returns the templates of all parts with pinned variables.
func (m *merge) pinned() *pinnedVariables {
	entries := m.overlay(listTemplates)
	if !entries.PinsVariables() {
		return nil
	}
	out := &pinnedVariables{by: make(map[*backend.Backend][]*pinnedTemplate)}
	for rank, p := range m.parts {
		seen := map[string]bool{}
		add := func(text string) {
			if seen[text] {
				return
			}
			seen[text] = true
			if variables := entries.VariablesOf(p.Backend.Name(), text); len(variables) > 0 {
				out.by[p.Backend] = append(out.by[p.Backend], out.template(text, variables))
			}
		}
		for _, x := range p.Catalog.Templates {
			add(x.GetUriTemplate())
		}
		for _, text := range m.owners.remembered(listTemplates, rank) {
			add(text)
		}
		for text := range p.Catalog.Withheld { // The backend answers by it all the same.
			if strings.Contains(text, "{") {
				add(text)
			}
		}
	}
	if len(out.by) == 0 {
		return nil
	}
	return out
}

// template returns a template with pinned variables, and adds their pins.
func (p *pinnedVariables) template(text string, variables []overlay.Argument) *pinnedTemplate {
	t := &pinnedTemplate{text: text}
	var readings []*uris.Readings
	if t.parsed, t.impossible = uris.Parse(text); t.impossible == nil {
		readings, t.impossible = overlay.Bound(t.parsed, variables)
	}
	if t.impossible != nil {
		return t
	}
	for i, a := range variables {
		at := slices.IndexFunc(p.pins, func(b overlay.Argument) bool { return samePin(a.Pin, b.Pin) })
		if at < 0 {
			at, p.pins = len(p.pins), append(p.pins, a)
		}
		t.variables = append(t.variables, pinnedVariable{a, at, readings[i]})
	}
	return t
}

// samePin reports whether two pins have the same value for every caller.
func samePin(a, b overlay.Pin) bool {
	_, fixed := a.(overlay.Fixed)
	_, too := b.(overlay.Fixed)
	return fixed == too && a.String() == b.String()
}

// of returns the template of a backend with a text, or nil. p may be nil.
func (p *pinnedVariables) of(owner *backend.Backend, text string) *pinnedTemplate {
	if p == nil {
		return nil
	}
	if at := slices.IndexFunc(p.by[owner], func(t *pinnedTemplate) bool { return t.text == text }); at >= 0 {
		return p.by[owner][at]
	}
	return nil
}

// valuesFor returns a caller's values of the pins, by their index. An empty one means that the caller
// has none. p may be nil.
func (p *pinnedVariables) valuesFor(who *mcp.Principal) []string {
	if p == nil {
		return nil
	}
	out := make([]string, len(p.pins))
	for i := range p.pins {
		out[i], _ = p.pins[i].Text(who)
	}
	return out
}

// pinnedWork is the work of the readings of a variable, as a multiple of that of a match.
const pinnedWork = 6

// needOf returns what a backend's URI needs of its callers, in all ways in which the backend may read
// it: no pinned variable of any template may have another value. sent is the spelling that the
// backend receives. of is the number of URIs that are compared for one request. No caller reads a URI
// that exceeds its share of maxWork.
func (s *resourceSet) needOf(owner *backend.Backend, sent string, of int) (out need) {
	if s.pinned == nil || len(s.pinned.by[owner]) == 0 {
		return out
	}
	forms, ok := formsWithin(sent, 1+pinnedWork*(s.owned[owner]+len(s.pinned.by[owner])), of)
	if !ok {
		return need{never: true}
	}
	for _, t := range s.pinned.by[owner] {
		if t.parsed != nil && t.impossible != nil && t.parsed.MayBeReadAs(sent, forms[1:]) {
			return need{never: true}
		}
		for i := range t.variables {
			v := &t.variables[i]
			read := v.readings.Of(sent, forms[1:])
			if read.Absent || len(read.Values) > 1 {
				return need{never: true}
			}
			if len(read.Values) == 1 {
				out.add(v.pin, read.Values[0])
			}
		}
	}
	return out
}

// add adds the value of a pin.
func (n *need) add(pin int, value string) {
	if n.values == nil {
		n.values = make(map[int]string)
	}
	before, known := n.values[pin]
	n.values[pin] = value
	n.never = n.never || known && before != value || value == ""
}

// met reports whether a caller with the given values may read the URI.
func (n need) met(values []string) bool {
	if n.never {
		return false
	}
	for pin, value := range n.values {
		if pin >= len(values) || values[pin] != value {
			return false
		}
	}
	return true
}

// pinsDeny reports whether a URI does not exist for a caller with the given values of the pins,
// because a pinned variable may have another value in it. Its parameters are those of needOf.
func (s *resourceSet) pinsDeny(owner *backend.Backend, sent string, of int, values []string) bool {
	return !s.needOf(owner, sent, of).met(values)
}

// bound returns the text of a template with a caller's values. ok is false if the caller has none.
func (t *pinnedTemplate) bound(values []string) (text string, ok bool) {
	named := t.named(values)
	if named == nil {
		return "", false
	}
	text, err := t.parsed.Bind(named)
	return text, err == nil
}

// named returns a caller's values by the names of the variables, or nil if the caller lacks one.
func (t *pinnedTemplate) named(values []string) map[string]string {
	if t.impossible != nil {
		return nil
	}
	out := make(map[string]string, len(t.variables))
	for _, v := range t.variables {
		if v.pin >= len(values) || values[v.pin] == "" {
			return nil
		}
		out[v.Name] = values[v.pin]
	}
	return out
}

// templateFor returns the template with the text that a caller with the given values sees, in its own
// or another spelling, or nil.
func (s *resourceSet) templateFor(text string, values []string) *Template {
	found := s.template(text)
	if found != nil && found.pin == nil {
		return found
	}
	if s.pinned == nil {
		return nil
	}
	parsed, err := uris.Parse(text)
	if err != nil {
		return nil
	}
	for _, t := range s.templates {
		if t.pin == nil || s.byText[t.Text] != t {
			continue
		}
		shown, ok := t.pin.bound(values)
		if !ok {
			continue
		}
		if shown == text {
			return t
		}
		if one, err := uris.Parse(shown); err == nil && one.Normal() == parsed.Normal() {
			return t
		}
	}
	return nil
}

// reportUnpinned logs that a template is hidden because its variables cannot be pinned, and adds it to
// problems.
func (m *merge) reportUnpinned(problems *[]problem, p part, text string, err error) {
	*problems = append(*problems, problem{p.Backend.Name(), "the template " + strconv.Quote(text) + unpinned(err)})
	m.report.once("unpinned\x00"+p.Backend.Name()+"\x00"+text+"\x00"+err.Error(),
		"a resource template is hidden, because its variables cannot be pinned", "backend", p.Backend.Name(), "template", Clip(text), "error", err)
}

// unpinned says that a template is hidden because of an error of its pins.
func unpinned(err error) string {
	return " is hidden, because its variables cannot be pinned: " + err.Error()
}

// Pinned returns the pinned variables of a completion's template with the caller's values. It is
// empty for other requests.
func (t *Target) Pinned() map[string]string {
	if t.Template == nil || t.Template.pin == nil {
		return nil
	}
	return t.Template.pin.named(t.values())
}

// DependsOnCaller reports whether URIs of the target's backend exist for some callers only, by pinned
// variables.
func (t *Target) DependsOnCaller() bool {
	return t.view != nil && t.view.Resources.pinned != nil && len(t.view.Resources.pinned.by[t.Backend]) > 0
}

// pin sets the caller's values of the view's pins.
func (t *Target) pin(values []string) {
	if values != nil {
		t.pins = &values
	}
}

// values returns the caller's values of the view's pins, or nil.
func (t *Target) values() []string {
	if t.pins == nil {
		return nil
	}
	return *t.pins
}
