package portable

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// headerKey is MCP's annotation of arguments that are mirrored in headers ("Streamable HTTP",
// "Custom Headers from Tool Parameters").
const headerKey = "x-mcp-header"

// maxWords bounds the words that are added to the author's description of one place.
const maxWords = 400

// elsewhere says that a reference is not followed.
const elsewhere = "It refers to another schema, which is not shown."

// name matches the member names that every interface accepts.
var name = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

func (f *facts) addText(text string) {
	if text != "" && !slices.Contains(f.words, text) {
		f.words = append(f.words, text)
	}
}

func (f *facts) conditions(keys []string) {
	keys = slices.DeleteFunc(keys, func(key string) bool {
		refers := key == "$dynamicRef" || key == "$recursiveRef"
		if refers {
			f.addText(elsewhere)
		}
		return refers
	})
	if len(keys) > 0 {
		f.addText("Further conditions apply (" + strings.Join(keys, ", ") + ").")
	}
}

// takeTexts adds the author's texts of of, which apply to all forms, to f, the first form.
func (f *facts) takeTexts(of *facts) {
	if f == of {
		return
	}
	if f.title == "" {
		f.title = of.title
	}
	if f.about == "" {
		f.about = of.about
	} else if of.about != "" && of.about != f.about {
		f.about = of.about + "\n" + f.about
	}
	for _, w := range of.words {
		f.addText(w)
	}
}

// dropTexts removes from f the texts and keywords that of, the first form, already has for all forms.
func (f *facts) dropTexts(of *facts) {
	if f.title == of.title {
		f.title = ""
	}
	if f.about == of.about {
		f.about = ""
	}
	f.words = slices.DeleteFunc(f.words, func(w string) bool { return slices.Contains(of.words, w) })
	f.keywords = maps.Clone(f.keywords)
	for _, key := range []string{"deprecated", "readOnly", "default", "examples"} {
		delete(f.keywords, key)
	}
}

// shown returns the names of members that are shown, and words about the others.
func (c *converter) shown(f *facts) (names, words []string) {
	var hidden []string
	for _, n := range f.names {
		s := f.properties[n]
		if s.value == false {
			continue
		}
		if !name.MatchString(n) && c.headersBelow(s.value) == 0 {
			text := brief(n, 80)
			if f.required.has[n] {
				text += " (required)"
			}
			if o, ok := s.value.(*object); ok && len(o.keys) > 0 && len(hidden) < maxEnumerated {
				text += ": " + c.form(o, 80)
			}
			hidden = append(hidden, text)
			continue
		}
		names = append(names, n)
	}
	if len(hidden) > 0 {
		words = append(words, "It also takes "+enumerateUpTo(hidden, maxWords)+".")
	}
	if f.rest.value != nil && f.rest.value != false && f.rest.value != true {
		words = append(words, "Other members are of the form "+c.form(f.rest.value, 200)+".")
	}
	var unnamed []string
	for _, n := range f.required.list {
		if _, there := f.properties[n]; !there {
			unnamed = append(unnamed, brief(n, 80))
		}
	}
	if len(unnamed) > 0 {
		words = append(words, "Required too: "+enumerate(unnamed)+".")
	}
	for _, key := range []string{"minProperties", "maxProperties"} {
		if n, ok := count(f.keywords[key]); ok {
			words = append(words, fmt.Sprintf("%s %d members.", map[string]string{"minProperties": "At least", "maxProperties": "At most"}[key], n))
		}
	}
	return names, words
}

// text writes the constraints of a string.
func (c *converter) text(f *facts, out *object) {
	if !c.enum(f, out) {
		c.values(f)
	}
	if expr, ok := f.keywords["pattern"].(string); ok {
		if alike := c.portablePattern(expr); alike != "" {
			out.set("pattern", alike)
		} else {
			f.addText("Pattern: " + clip(expr, 120))
		}
	}
	if format, ok := f.keywords["format"].(string); ok {
		if format == "date-time" {
			out.set("format", format)
		} else {
			f.addText("Format: " + clip(format, 80) + ".")
		}
	}
	if encoding, ok := f.keywords["contentEncoding"].(string); ok {
		f.addText("In " + clip(encoding, 40) + ".")
	}
	low, atLeast := count(f.keywords["minLength"])
	high, atMost := count(f.keywords["maxLength"])
	switch {
	case atLeast && atMost && low == high:
		f.addText(fmt.Sprintf("%d characters.", low))
	case atLeast && atMost:
		f.addText(fmt.Sprintf("%d to %d characters.", low, high))
	case atLeast:
		f.addText(fmt.Sprintf("At least %d characters.", low))
	case atMost:
		f.addText(fmt.Sprintf("At most %d characters.", high))
	}
}

// Bounds of one enumeration beyond maxShort values (OpenAI: "Structured Outputs").
const (
	maxShort     = 250
	maxEnumBytes = 15_000
)

// enum writes the values of a string, if interfaces accept them.
func (c *converter) enum(f *facts, out *object) bool {
	if len(f.values) == 0 || len(f.values) > c.enums {
		return false
	}
	var list []any
	size := 0
	for _, v := range f.values {
		text, ok := v.(string)
		if !ok || text == "" {
			return false
		}
		if !slices.Contains(list, v) {
			list = append(list, text)
			size += len(text)
		}
	}
	if len(list) > maxShort && size > maxEnumBytes || size > c.left {
		return false
	}
	c.enums -= len(list)
	out.set("enum", list)
	return true
}

// values describes in words which values are accepted.
func (c *converter) values(f *facts) {
	if len(f.values) == 0 {
		return
	}
	var list []string
	for i, v := range f.values {
		if i > 20 {
			break
		}
		list = append(list, brief(v, 80))
	}
	if len(list) == 1 {
		f.addText("Always " + list[0] + ".")
		return
	}
	f.addText("One of " + enumerate(list) + ".")
}

// bounds writes the bounds of a number.
func (c *converter) bounds(f *facts, out *object) {
	for _, b := range [...]struct {
		key, exclusive, words string
		step                  int64
	}{{"minimum", "exclusiveMinimum", "More than", 1}, {"maximum", "exclusiveMaximum", "Less than", -1}} {
		bound, ok := f.keywords[b.key].(json.Number)
		if _, good := number(bound); !ok || !good {
			bound = ""
		}
		if x, ok := f.keywords[b.exclusive].(json.Number); ok {
			if n, good := number(x); good {
				f.addText(b.words + " " + string(x) + ".")
				next := x
				if f.types == typeInteger && n.IsInt() {
					next = json.Number(new(big.Int).Add(n.Num(), big.NewInt(b.step)).String())
				}
				if m, ok := number(bound); !ok || n.Cmp(m)*int(b.step) > 0 {
					bound = next
				}
			}
		}
		if bound != "" {
			out.set(b.key, bound)
		}
	}
	if n, ok := number(f.keywords["multipleOf"]); ok && n.Sign() > 0 {
		f.addText(fmt.Sprintf("A multiple of %v.", f.keywords["multipleOf"]))
	}
}

// describe writes title and description.
func (c *converter) describe(out *object, f *facts, more string) {
	if f.title != "" && c.left > len(f.title) {
		out.set("title", f.title)
	}
	f.addText(more)
	if unique, ok := f.keywords["uniqueItems"].(bool); ok && unique && f.types == typeArray {
		f.addText("No two items alike.")
	}
	text := f.description()
	if len(text) > max(c.left, 0) {
		text = clip(text, 100)
	}
	if text != "" {
		out.set("description", text)
	}
}

// description joins the author's words and the added ones.
func (f *facts) description() string {
	words := slices.Clone(f.words)
	if yes, ok := f.keywords["deprecated"].(bool); ok && yes {
		words = append(words, "Deprecated.")
	}
	if yes, ok := f.keywords["readOnly"].(bool); ok && yes {
		words = append(words, "Set by the service.")
	}
	if v, there := f.keywords["default"]; there {
		words = append(words, "Default: "+brief(v, 80)+".")
	}
	if list, ok := f.keywords["examples"].([]any); ok && len(list) > 0 {
		words = append(words, "Example: "+brief(list[0], 80)+".")
	}
	return join(f.about, clip(strings.Join(words, " "), maxWords))
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// clip cuts a text between characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// headersBelow counts the headers of a schema. It visits each schema once.
func (c *converter) headersBelow(value any) int {
	o, ok := value.(*object)
	if !ok {
		return 0
	}
	n, known := c.mirrored[o]
	if !known {
		n = countHeaders(o)
		c.mirrored[o] = n
	}
	return n
}

// countHeaders counts the annotations to which only properties lead.
func countHeaders(value any) (n int) {
	o, ok := value.(*object)
	if !ok {
		return 0
	}
	if _, there := o.values[headerKey]; there && typesOf(o.get("type"))&^(typeString|typeInteger|typeBoolean) == 0 {
		n++
	}
	if members, ok := o.get("properties").(*object); ok {
		for _, key := range members.keys {
			n += countHeaders(members.values[key])
		}
	}
	return n
}

// anyOf returns the forms of any JSON, with deep levels of arrays within arrays.
func anyOf(about string, deep int) []any {
	var list []any
	for i, kind := range []string{"string", "number", "boolean", "object", "null", "array"} {
		if kind == "array" && deep == 0 {
			break
		}
		o := &object{}
		o.set("type", kind)
		if i == 0 && about != "" {
			o.set("description", about)
		}
		if kind == "array" {
			items := &object{}
			items.set("anyOf", anyOf("", deep-1))
			o.set("items", items)
		}
		list = append(list, o)
	}
	return list
}

var anyJSON = print(anyOf("", AnyDepth))

// distinct removes forms that equal an earlier one, and merges the values of several into one.
func distinct(list []*facts) (out []*facts) {
	var bare types
	var listed *facts
	for _, f := range list {
		plain := f.about == "" && f.title == "" && len(f.words) == 0 && len(f.keywords) == 0
		switch {
		case plain && !f.constrainsType(f.types):
			if bare&f.types == f.types {
				continue
			}
			bare |= f.types
		case plain && f.types == typeString && f.values != nil && listed != nil:
			listed.values = append(slices.Clone(listed.values), f.values...)
			continue
		case f.types == typeString && f.values != nil && len(f.keywords) == 0:
			listed = f
		}
		out = append(out, f)
	}
	return out
}
