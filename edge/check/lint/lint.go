// Package lint checks a tool against the rules that model interfaces publish for tools.
// docs/schemas.md lists the rules with their sources.
package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Profile is a model interface.
type Profile string

// The profiles. OpenAIStrict is OpenAI with strict schemas, after the changes that clients make for
// it: every object is closed and every member required.
const (
	Anthropic    Profile = "anthropic"
	OpenAI       Profile = "openai"
	OpenAIStrict Profile = "openai-strict"
	Gemini       Profile = "gemini"
)

// Profiles are all profiles, in the order of reports.
var Profiles = []Profile{Anthropic, OpenAI, OpenAIStrict, Gemini}

// Tool is what a client hands to an interface.
type Tool struct {
	// Name is the name that clients see, with the backend's prefix.
	Name string
	// Schema is the schema of the arguments, JSON.
	Schema string
}

// Finding is a violation of a rule at one place of a tool.
type Finding struct {
	Profile Profile
	Rule    string
	// Place is a JSON pointer into the schema; empty means its root, or the tool's name.
	Place string
	// Text says what is wrong, with which value.
	Text string
	// Limit means that the interface accepts the tool, but cannot supply all of its arguments.
	Limit bool
}

func (f Finding) String() string {
	place := f.Place
	if place == "" {
		place = "/"
	}
	return fmt.Sprintf("%s: %s: %s: %s", f.Profile, place, f.Rule, f.Text)
}

// maxFindings bounds the findings of one tool and profile.
const maxFindings = 100

// Check checks a tool against the rules of all profiles. The findings are in the order of Profiles,
// then of places.
func Check(t Tool) (found []Finding) {
	doc, err := decode(t.Schema)
	var invalid error
	if err == nil && t.Schema != "" {
		invalid = compile(t.Schema)
	}
	for _, p := range Profiles {
		c := &check{profile: p}
		c.name(t.Name)
		if err != nil {
			c.add("json-schema", "", "the schema is not a JSON object: %v", err)
		} else {
			c.document(doc, invalid)
		}
		slices.SortStableFunc(c.found, func(a, b Finding) int { return strings.Compare(a.Place, b.Place) })
		found = append(found, c.found...)
	}
	return found
}

func decode(text string) (map[string]any, error) {
	if text == "" {
		return map[string]any{"type": "object"}, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	if doc == nil {
		return nil, fmt.Errorf("it is null")
	}
	return doc, nil
}

// check is the check of one tool for one profile.
type check struct {
	profile Profile
	found   []Finding
	// Totals over the whole schema.
	properties, values, letters int
}

func (c *check) add(rule, place, format string, args ...any) {
	if len(c.found) < maxFindings {
		c.found = append(c.found, Finding{Profile: c.profile, Rule: rule, Place: place, Text: fmt.Sprintf(format, args...)})
	}
}

func (c *check) limit(rule, place, format string, args ...any) {
	n := len(c.found)
	c.add(rule, place, format, args...)
	if len(c.found) > n {
		c.found[n].Limit = true
	}
}

// in reports whether the profile is one of profiles.
func (c *check) in(profiles ...Profile) bool { return slices.Contains(profiles, c.profile) }

// walk visits a schema and its subschemas, with their places. level is the nesting of objects,
// including this one.
func (c *check) walk(value any, place string, level int) {
	s, ok := value.(map[string]any)
	if !ok {
		if c.in(OpenAIStrict, Gemini) {
			c.add("type", place, "the schema is %v; give it a type", value)
		}
		return
	}
	if s["type"] == "object" || s["properties"] != nil {
		level++
	}
	c.schema(s, place, level)
	for _, key := range keys(s) {
		at := place + "/" + escape(key)
		switch below := s[key].(type) {
		case map[string]any:
			switch key {
			case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
				for _, name := range keys(below) {
					c.walk(below[name], at+"/"+escape(name), level)
				}
			case "items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems":
				c.walk(below, at, level)
			}
		case []any:
			switch key {
			case "anyOf", "oneOf", "allOf", "prefixItems":
				for i, x := range below {
					c.walk(x, fmt.Sprintf("%s/%d", at, i), level)
				}
			}
		}
	}
}

func keys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for key := range m {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}

// escape writes a step of a JSON pointer (RFC 6901).
func escape(step string) string { return pointerStep.Replace(step) }

var pointerStep = strings.NewReplacer("~", "~0", "/", "~1")
