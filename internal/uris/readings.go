package uris

import (
	"fmt"
	"slices"
	"strings"
)

// Readings has all ways in which a backend may read one variable of URIs that match a template.
// It also covers backends that match more than the template allows. It is immutable.
type Readings struct {
	// strict is the template. loose is the template with reserved characters allowed in values,
	// except those that separate the parts of a URI.
	strict, loose *Template
	// head is the loose template up to its query or fragment. nil if it has neither.
	head *Template
	// at is the index of the variable among the parts. inHead means that head has the variable.
	at     int
	inHead bool
	// key is the name of the parameter of the query that has the variable. Empty means none.
	key string
}

// ReadingsOf returns the Readings of a variable of the template. The error says why the values of
// the variable cannot be compared.
func (t *Template) ReadingsOf(variable string) (*Readings, error) {
	at := slices.IndexFunc(t.parts, func(p part) bool { return p.name == variable })
	if at < 0 {
		return nil, fmt.Errorf("it has no variable %q", variable)
	}
	p := &t.parts[at]
	if p.most > 0 || p.exploded {
		return nil, fmt.Errorf("its variable %q has a modifier, so that its value may be in the URI in part or as a list", variable)
	}
	r := &Readings{strict: t, loose: t.loosened(), at: at}
	r.head = r.loose.beforeQuery()
	r.inHead = r.head == nil || at < len(r.head.parts) && r.head.parts[at].name == variable
	switch {
	case r.inHead:
	case p.named:
		r.key = variable
	case at > 0:
		before := t.parts[at-1].before.text
		r.key = strings.TrimSuffix(before[strings.LastIndexAny(before, "?&;#")+1:], "=")
	}
	return r, nil
}

// loosened returns a copy of the template whose values may have further reserved characters and any
// length.
func (t *Template) loosened() *Template {
	out := &Template{text: t.text, normal: t.normal, variables: t.variables, parts: slices.Clone(t.parts)}
	for i := range out.parts {
		p := &out.parts[i]
		if p.allowed == nil {
			continue
		}
		p.most = 0
		set := *p.allowed
		for c := range 128 {
			b := byte(c)
			end := b == '/' || b == '?' || b == '#' || p.named && (b == '&' || b == ';') || p.inList && b == p.between[0] || p.operator == '.' && b == '.'
			set[c] = set[c] || reserved(b) && !end
		}
		p.allowed = &set
	}
	return out
}

// beforeQuery returns the template up to its query or fragment, or nil if it has neither.
func (t *Template) beforeQuery() *Template {
	for i := range t.parts {
		p := &t.parts[i]
		begins := strings.IndexAny(p.before.text, "?#")
		if begins < 0 && p.operator != '&' {
			continue
		}
		out := &Template{text: t.text, normal: t.normal, parts: slices.Clone(t.parts[:i])}
		if p.name == "" { // The first and the last part are literals.
			out.parts = append(out.parts, part{before: newWord(p.before.text[:begins])})
		}
		return out
	}
	return nil
}

// Reading is how a backend may read a variable of a URI. The zero value means that the URI does not
// match the template.
type Reading struct {
	// Values are at most two different values that the variable may have.
	Values []string
	// Absent means that a backend may read the URI without a value of the variable.
	Absent bool
}

// Of returns the readings of a variable in a URI, which a backend receives, and in its forms, see
// Forms. A reading without a query that the URI has, and which alone may have the variable, is
// ignored if the URI itself has one value. Each parameter of a query counts that a backend may read as
// the variable.
func (r *Readings) Of(uri string, forms []string) Reading {
	sent := r.of(r.strict, readable(uri))
	whole := len(sent.Values) == 1 && !sent.Absent
	out := sent
	for _, form := range append([]string{uri}, forms...) {
		form = readable(form)
		if len(form) > MaxBytes {
			if strings.HasPrefix(form, r.strict.Prefix()) || r.strict.Prefix() == "" {
				out.Absent = true
			}
			continue
		}
		one := r.of(r.strict, form)
		if one.none() {
			one = r.of(r.loose, form)
		}
		if r.head != nil && one.none() {
			one = r.ofHead(form)
		}
		if one.Absent && !r.inHead && whole && (r.key != "" || !strings.ContainsAny(form, "?#")) {
			one.Absent = false
		}
		out.add(one)
		r.parameters(form, &out)
	}
	return out
}

// ofHead returns the reading of a URI without its query and fragment.
func (r *Readings) ofHead(form string) Reading {
	form = cutAtAny(form, "?#")
	if r.inHead {
		return r.of(r.head, form)
	}
	ok, _ := r.head.match(form, nil)
	return Reading{Absent: ok}
}

// parameters adds the values of all parameters in the query of a URI that a backend may read as the
// variable.
func (r *Readings) parameters(form string, out *Reading) {
	path := cutAtAny(form, "?#")
	if r.key == "" || path == form {
		return
	}
	if ok, _ := r.head.match(path, nil); !ok {
		return
	}
	for _, one := range strings.FieldsFunc(form[len(path):], func(c rune) bool { return strings.ContainsRune("?&;#", c) }) {
		name, value, _ := strings.Cut(one, "=")
		name, _, _ = strings.Cut(Decode(name), "[")
		if strings.EqualFold(strings.TrimSpace(name), r.key) {
			out.add(Reading{Values: []string{Decode(value)}})
		}
	}
}

func (r *Reading) none() bool { return len(r.Values) == 0 && !r.Absent }

func (r *Reading) add(other Reading) {
	r.Absent = r.Absent || other.Absent
	for _, value := range other.Values {
		if len(r.Values) < 2 && !slices.Contains(r.Values, value) {
			r.Values = append(r.Values[:len(r.Values):len(r.Values)], value)
		}
	}
}

// readable returns the normal form of a text, with each percent sign that begins no escape escaped.
func readable(text string) string {
	var out []byte
	for at := range len(text) {
		if text[at] == '%' && !escaped(text, at) {
			if out == nil {
				out = append(make([]byte, 0, len(text)+16), text[:at]...)
			}
			out = append(out, "%25"...)
		} else if out != nil {
			out = append(out, text[at])
		}
	}
	if out != nil {
		text = string(out)
	}
	return Normal(text)
}

// of returns the reading of a URI in normal form by one form of the template: all values with which the
// parts before and after the variable match. The positions at which a value may begin are a superset
// for lists and limited values, so that it may find more readings than there are.
func (r *Readings) of(t *Template, uri string) (out Reading) {
	if len(uri) > MaxBytes || !t.mayMatch(uri) {
		return out
	}
	m := t.matching(uri)
	if !m.fits[0].has(0) {
		return out
	}
	reached := newBits(len(uri) + 1)
	reached.add(0)
	for i := range r.at {
		reached = m.after(&t.parts[i], reached)
	}
	p, behind := &t.parts[r.at], m.fits[r.at+1]
	starts := m.starts(p, reached)
	ends := m.nextEnds(p, behind)
	for at := range len(uri) + 1 {
		out.Absent = out.Absent || p.optional && reached.has(at) && behind.has(at)
		if !starts.has(at) {
			continue
		}
		for end := ends[at]; end >= 0 && len(out.Values) < 2; {
			out.add(Reading{Values: []string{Decode(uri[at:end])}})
			if end == len(uri) || !p.allowed[uri[end]] {
				break
			}
			end = ends[end+1]
		}
	}
	return out
}

// nextEnds returns, for each position, the first position from there on at which a value that began
// before may end, or -1.
func (m *matching) nextEnds(p *part, behind bits) []int {
	ends := make([]int, len(m.uri)+1)
	next := -1
	for at := len(m.uri); at >= 0; at-- {
		switch {
		case behind.has(at) && !m.insideEscape(at):
			next = at
		case at == len(m.uri) || !p.allowed[m.uri[at]]:
			next = -1
		}
		ends[at] = next
	}
	return ends
}

// starts returns the positions after the prefix of a part that begins at one of the given positions.
func (m *matching) starts(p *part, from bits) bits {
	out := newBits(len(m.uri) + 1)
	words := append([]word{p.before}, p.others...)
	for at := range len(m.uri) + 1 {
		if !from.has(at) {
			continue
		}
		for i := range words {
			if strings.HasPrefix(m.uri[at:], words[i].text) {
				out.add(at + len(words[i].text))
			}
		}
	}
	return out
}

// after returns the positions after a part that begins at one of the given positions.
func (m *matching) after(p *part, from bits) bits {
	starts := m.starts(p, from)
	if p.name == "" {
		return starts
	}
	out, inside := newBits(len(m.uri)+1), false
	if p.optional {
		out.addAll(from)
	}
	for at := range len(m.uri) + 1 {
		inside = inside || starts.has(at)
		if !inside {
			continue
		}
		if !m.insideEscape(at) {
			out.add(at)
		}
		if p.again.text != "" && strings.HasPrefix(m.uri[at:], p.again.text) {
			starts.add(at + len(p.again.text))
		}
		inside = at < len(m.uri) && p.allowed[m.uri[at]]
	}
	return out
}

// Bind returns the text of the template with values in place of some variables, as a template of
// the others. It returns an error if an expression has other variables before a bound one.
func (t *Template) Bind(values map[string]string) (string, error) {
	literals, expressions, err := split(t.text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(literals[0])
	for i, expression := range expressions {
		if err := t.bindExpression(&b, expression, values); err != nil {
			return "", err
		}
		b.WriteString(literals[i+1])
	}
	return b.String(), nil
}

// bindExpression writes an expression with the values of the variables that are bound.
func (t *Template) bindExpression(b *strings.Builder, text string, values map[string]string) error {
	operator, specs := "", text
	if strings.IndexByte("+#./;?&", text[0]) >= 0 {
		operator, specs = text[:1], text[1:]
	}
	var rest []string
	begun := false
	for spec := range strings.SplitSeq(specs, ",") {
		name, _, _ := strings.Cut(strings.TrimSuffix(spec, "*"), ":")
		value, bound := values[name]
		switch {
		case !bound:
			rest = append(rest, spec)
			continue
		case len(rest) > 0:
			return fmt.Errorf("its variable %q follows others in the expression {%.80s}", name, text)
		}
		at := slices.IndexFunc(t.parts, func(p part) bool { return p.name == name })
		t.parts[at].expand(b, value, begun)
		begun = true
	}
	if len(rest) == 0 {
		return nil
	}
	if begun {
		switch operator {
		case "", "+":
			b.WriteByte(',')
		case "#":
			b.WriteByte(',')
			operator = "+"
		case "?":
			operator = "&"
		}
	}
	b.WriteString("{" + operator + strings.Join(rest, ",") + "}")
	return nil
}

// MayBeReadAs reports whether a backend may read a URI, or one of its forms, as one of the template,
// also if it matches more than the template allows.
func (t *Template) MayBeReadAs(uri string, forms []string) bool {
	loose := t.loosened()
	head := loose.beforeQuery()
	return slices.ContainsFunc(append([]string{uri}, forms...), func(form string) bool {
		form = readable(form)
		matches := func(t *Template, text string) bool { ok, _ := t.match(text, nil); return ok }
		return len(form) > MaxBytes || matches(t, form) || matches(loose, form) || head != nil && matches(head, cutAtAny(form, "?#"))
	})
}
