package portable

import (
	"slices"
	"strings"
)

// maxBranches bounds the branches of a choice that are read, maxForms those that are shown.
const (
	maxBranches = 64
	maxForms    = 16
)

// branches expands the first choice that describes the form of values. Each returned branch is
// combined with the facts that hold for all. The other choices become words.
func (c *converter) branches(f *facts) (out []*facts, words []string) {
	out = []*facts{f}
	for _, ch := range f.choices {
		parts, total := c.parts(ch, f.types)
		switch {
		case total == 0: // no value matches any branch
			f.none = true
			return nil, nil
		case len(out) > 1 || total > maxForms || slices.ContainsFunc(parts, (*facts).isCondition):
			words = append(words, c.sentence(ch, parts))
			continue
		case f.possible() == typeObject && len(f.names) > 0:
			words = append(words, c.merge(f, ch, parts, total)...)
			continue
		}
		var joined []*facts
		for _, p := range parts {
			if one := c.intersect(f, p); one.possible() != 0 {
				joined = append(joined, one)
			}
		}
		out = joined
		if ch.keyword == "oneOf" && len(out) > 1 && !disjointTypes(out) {
			words = append(words, "Exactly one of the forms must fit.")
		}
	}
	return out, words
}

// parts reads the branches of a choice that some value may match.
func (c *converter) parts(ch choice, of types) (out []*facts, total int) {
	for _, b := range ch.branches {
		if total == maxBranches+1 {
			break
		}
		p := c.flatten(b)
		if p.possible()&of == 0 && !p.cut {
			continue
		}
		// The forms of a nested choice become forms of this one if possible, else words.
		if len(p.choices) == 1 && !p.constrains() {
			inner, n := c.parts(p.choices[0], of)
			if n > 0 && n+total <= maxBranches && !slices.ContainsFunc(inner, (*facts).isCondition) {
				for _, i := range inner {
					out = append(out, c.intersect(p, i))
				}
				total += n
				continue
			}
		}
		if len(p.choices) > 0 {
			p.addText("Further conditions apply (" + p.choices[0].keyword + ").")
			p.choices = nil
		}
		out = append(out, p)
		total++
	}
	return out, total
}

// constrains reports whether a schema says more than the type of a value.
func (f *facts) constrains() bool {
	return slices.ContainsFunc(eachType, f.constrainsType)
}

// isCondition reports whether a branch does not describe values, but only states a condition, such
// as required members.
func (f *facts) isCondition() bool {
	return f.types == anyType && f.values == nil && len(f.names) == 0 && f.items.value == nil && len(f.prefix) == 0 &&
		len(f.keywords) == 0 && f.rest.value == nil
}

// intersect returns the facts of values that match both f and p.
func (c *converter) intersect(f, p *facts) *facts {
	c.charge((len(f.names) + len(p.names) + len(f.required.list) + len(p.required.list)) / 4)
	one := *f
	one.choices = nil
	one.none = f.none || p.none
	one.types = f.types & p.types
	one.cut = f.cut || p.cut
	one.closed = f.closed || p.closed
	one.header = nil
	one.names, one.properties, one.keywords = nil, nil, nil
	one.values = slices.Clone(f.values)
	if p.values != nil {
		c.restrict(&one, p.values)
	}
	one.required = f.required.clone()
	for _, name := range p.required.list {
		one.required.add(name)
	}
	for _, from := range []*facts{p, f} {
		for _, name := range from.names {
			one.member(name, from.properties[name])
		}
		for key, value := range from.keywords {
			one.keyword(key, value)
		}
	}
	if p.items.value != nil {
		one.items = p.items
	}
	if len(p.prefix) > 0 {
		one.prefix = p.prefix
	}
	if p.rest.value != nil {
		one.rest = p.rest
	}
	one.title, one.about = p.title, p.about
	one.words = slices.Concat(f.words, p.words)
	return &one
}

// disjointTypes reports whether the types of the forms alone exclude that a value matches two of them.
func disjointTypes(forms []*facts) bool {
	var seen types
	for _, f := range forms {
		if f.possible()&seen != 0 {
			return false
		}
		seen |= f.possible()
	}
	return true
}

// hoist merges the choices of a root into one object. The words describe what the choices require.
func (c *converter) hoist(f *facts) (words []string) {
	for _, ch := range f.choices {
		parts, total := c.parts(ch, typeObject)
		if total == 0 {
			continue
		}
		words = append(words, c.merge(f, ch, parts, total)...)
	}
	f.choices = nil
	return words
}

// merge adds the members of a choice's branches to an object. A member that some branch does not
// restrict accepts anything.
func (c *converter) merge(f *facts, ch choice, parts []*facts, total int) (words []string) {
	said := c.sentence(ch, parts)
	if total > maxBranches {
		return []string{said}
	}
	required, seen := map[string]int{}, map[string]bool{}
	var names []string
	for _, p := range parts {
		for _, name := range p.required.list {
			required[name]++
		}
		for _, name := range p.names {
			if _, there := f.properties[name]; !there && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	c.charge(len(names) * len(parts) / 16)
	for _, name := range names {
		var subs []any
		open, closed := false, 0
		var open0 *opened
		for _, p := range parts {
			s, there := p.properties[name]
			switch {
			case there && s.value != false:
				subs = append(subs, s.value)
				open0 = s.open
			case there || p.closed:
				closed++
			default:
				open = true
			}
		}
		switch {
		case len(subs) == 0:
			continue
		case open:
			about := ""
			if o, ok := subs[0].(*object); ok {
				about, _ = o.get("description").(string)
				about = join(about, "In one of the forms: "+c.form(o, 200))
			}
			either := &object{}
			either.set("description", about)
			f.member(name, sub{value: either, open: c.refs.root(), referred: true})
		case len(subs) == 1:
			f.member(name, sub{value: subs[0], open: open0, referred: true})
		default:
			either := &object{}
			either.set("anyOf", c.unique(subs))
			f.member(name, sub{value: either, open: deepest(parts, name), referred: true})
		}
	}
	for _, p := range parts {
		for _, name := range p.required.list {
			if required[name] == len(parts) {
				f.required.add(name)
			}
		}
	}
	if said != "" {
		words = append(words, said)
	}
	return words
}

// deepest returns the longest path of references to a member among branches, so that recursion is
// cut as early as in any of them.
func deepest(parts []*facts, name string) (out *opened) {
	most := -1
	for _, p := range parts {
		s, there := p.properties[name]
		if !there {
			continue
		}
		n := 0
		for o := s.open; o != nil; o = o.before {
			n++
		}
		if n > most {
			most, out = n, s.open
		}
	}
	return out
}

// unique removes duplicate schemas.
func (c *converter) unique(list []any) (out []any) {
	seen, met := map[string]bool{}, map[*object]bool{}
	for _, x := range list {
		if o, ok := x.(*object); ok && met[o] {
			continue
		} else if ok {
			met[o] = true
		}
		text := print(x)
		if c.charge(len(text) / stepBytes); !seen[text] {
			seen[text] = true
			out = append(out, x)
		}
	}
	return out
}

// sentence describes a choice in words.
func (c *converter) sentence(ch choice, parts []*facts) string {
	var all, alone []string
	optional := false
	for _, b := range ch.branches {
		names, none, ok := requirement(b.value)
		switch {
		case !ok:
			return c.forms(ch, parts)
		case none:
			optional = true
		case len(names) == 1:
			alone = append(alone, names[0])
			all = append(all, names[0])
		default:
			all = append(all, strings.Join(names, " with "))
		}
	}
	how := "at least one"
	if ch.keyword == "oneOf" {
		how = "exactly one"
		if optional && len(alone) == len(all) {
			how = "at most one"
		}
	} else if optional {
		return ""
	}
	return "Give " + how + " of " + enumerate(all) + "."
}

// forms names the members that distinguish the branches of a choice.
func (c *converter) forms(ch choice, parts []*facts) string {
	var forms []string
	for _, p := range parts {
		if len(p.required.list) == 0 {
			return "Further conditions apply (" + ch.keyword + ")."
		}
		var names []string
		for _, name := range p.required.list {
			if o, ok := p.properties[name].value.(*object); ok {
				if v, always := o.values["const"]; always {
					name += " = " + brief(v, 40)
				}
			}
			names = append(names, name)
		}
		if text := strings.Join(names, " with "); !slices.Contains(forms, text) {
			forms = append(forms, text)
		}
	}
	if len(forms) < max(2, len(parts)) {
		return "Further conditions apply (" + ch.keyword + ")."
	}
	return "The forms are: " + enumerate(forms) + "."
}

// requirement parses a branch that only requires members. With none it rejects each of these
// members instead.
func requirement(branch any) (names []string, none, ok bool) {
	o, isObject := branch.(*object)
	if !isObject || len(o.keys) == 0 {
		return nil, false, false
	}
	for _, key := range o.keys {
		switch key {
		case "required":
			list, _ := o.values[key].([]any)
			for _, x := range list {
				name, isText := x.(string)
				if !isText {
					return nil, false, false
				}
				names = append(names, name)
			}
		case "type", "title", "description":
		case "not":
			if len(o.keys) > 1 {
				return nil, false, false
			}
			return nil, true, excludes(o.values[key])
		default:
			return nil, false, false
		}
	}
	return names, false, len(names) > 0
}

// excludes reports whether a schema is only a `required`, or an anyOf of requirements.
func excludes(value any) bool {
	o, ok := value.(*object)
	if !ok || len(o.keys) != 1 {
		return false
	}
	if _, one := o.values["required"]; one {
		return true
	}
	list, ok := o.values["anyOf"].([]any)
	return ok && !slices.ContainsFunc(list, func(x any) bool {
		_, none, ok := requirement(x)
		return !ok || none
	})
}

// maxEnumerated bounds the texts in one list.
const maxEnumerated = 20

// enumerate lists names, at most maxEnumerated, each cut to 80 bytes.
func enumerate(names []string) string { return enumerateUpTo(names, 80) }

// enumerateUpTo lists texts, at most maxEnumerated, each cut to most bytes.
func enumerateUpTo(names []string, most int) string {
	var b strings.Builder
	for i, name := range names {
		if i == maxEnumerated {
			b.WriteString(" …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(clip(name, most))
	}
	return b.String()
}
