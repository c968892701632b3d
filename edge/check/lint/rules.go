package lint

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Rule is one published rule, as docs/schemas.md lists it.
type Rule struct {
	Name     string
	Profiles []Profile
}

// Rules are all rules.
var Rules = []Rule{
	{"name", Profiles},
	{"json-schema", []Profile{Anthropic, OpenAI, OpenAIStrict}},
	{"root-object", Profiles},
	{"root-combinators", []Profile{Anthropic, OpenAI, OpenAIStrict}},
	{"root-properties", []Profile{OpenAI, OpenAIStrict}},
	{"property-names", []Profile{Anthropic, Gemini}},
	{"references", []Profile{Anthropic, Gemini}},
	{"keywords", []Profile{OpenAIStrict, Gemini}},
	{"type", []Profile{OpenAIStrict, Gemini}},
	{"array-items", []Profile{OpenAI, OpenAIStrict, Gemini}},
	{"any-of-alone", []Profile{Gemini}},
	{"enum", []Profile{Gemini}},
	{"format", []Profile{OpenAIStrict, Gemini}},
	{"empty-object", []Profile{Gemini}},
	{"required", []Profile{Gemini}},
	{"size", []Profile{OpenAIStrict}},
	{"open-object", []Profile{OpenAIStrict}},
}

// Names of tools and of arguments.
var (
	toolName = map[Profile]*regexp.Regexp{
		Anthropic:    regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`),
		OpenAI:       regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
		OpenAIStrict: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
		Gemini:       regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`),
	}
	argumentName = map[Profile]*regexp.Regexp{
		Anthropic: regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`),
		Gemini:    regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`),
	}
)

func (c *check) name(name string) {
	if want := toolName[c.profile]; !want.MatchString(name) {
		c.add("name", "", "the tool's name %q does not match %s", clip(name), want)
	}
}

// document checks the schema as a whole. invalid is why it is not a JSON Schema, or nil.
func (c *check) document(doc map[string]any, invalid error) {
	if invalid != nil && c.in(Anthropic, OpenAI, OpenAIStrict) {
		c.add("json-schema", "", "it is not a JSON Schema 2020-12: %.200s", strings.ReplaceAll(invalid.Error(), "\n", " "))
	}
	if doc["type"] != "object" {
		c.add("root-object", "", "the root has the type %v; it must be object", show(doc["type"]))
	}
	refused := map[Profile][]string{
		Anthropic:    {"oneOf", "anyOf", "allOf"},
		OpenAI:       {"oneOf", "anyOf", "allOf", "enum", "not"},
		OpenAIStrict: {"oneOf", "anyOf", "allOf", "enum", "not"},
	}[c.profile]
	for _, key := range refused {
		if _, there := doc[key]; there {
			c.add("root-combinators", "/"+key, "%s stands at the root", key)
		}
	}
	properties, _ := doc["properties"].(map[string]any)
	if properties == nil && c.in(OpenAI, OpenAIStrict) {
		c.add("root-properties", "", "the root has no properties; without arguments they are {}")
	}
	if want := argumentName[c.profile]; want != nil {
		for _, name := range keys(properties) {
			if !want.MatchString(name) {
				c.add("property-names", "/properties/"+escape(name), "the argument %q does not match %s", clip(name), want)
			}
		}
	}
	if c.profile == Gemini && len(doc) <= 2 && len(properties) == 0 {
		return // a tool without arguments is sent without parameters
	}
	c.walk(doc, "", 0)
	if c.profile == OpenAIStrict {
		c.size()
	}
}

// known are the keywords of the interfaces that refuse others.
var known = map[Profile][]string{
	OpenAIStrict: {"type", "title", "description", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref",
		"$defs", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"},
	Gemini: {"type", "title", "description", "nullable", "format", "enum", "items", "minItems", "maxItems", "properties", "required", "minProperties",
		"maxProperties", "propertyOrdering", "minLength", "maxLength", "pattern", "minimum", "maximum", "anyOf", "default", "example"},
}

// formats are the accepted string formats.
var formats = map[Profile][]string{
	OpenAIStrict: {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
	Gemini:       {"date-time", "enum"},
}

var jsonTypes = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// schema checks one schema without its subschemas.
func (c *check) schema(s map[string]any, place string, level int) {
	c.keywords(s, place)
	c.types(s, place)
	_, hasItems := s["items"]
	if c.in(OpenAI, OpenAIStrict, Gemini) && hasType(s, "array") && !hasItems {
		c.add("array-items", place, "the array does not say what its items are")
	}
	if list := formats[c.profile]; list != nil && hasType(s, "string") {
		if format, ok := s["format"].(string); ok && !slices.Contains(list, format) {
			c.add("format", place+"/format", "%q is none of %s", clip(format), strings.Join(list, ", "))
		}
	}
	switch c.profile {
	case Gemini:
		c.gemini(s, place)
	case OpenAIStrict:
		c.strict(s, place, level)
	}
}

// keywords checks that the interface knows all keywords.
func (c *check) keywords(s map[string]any, place string) {
	for _, key := range keys(s) {
		at := place + "/" + escape(key)
		switch {
		case c.in(Anthropic, Gemini) && slices.Contains([]string{"$ref", "$dynamicRef", "$recursiveRef"}, key):
			c.add("references", at, "%s refers to another place", key)
		case known[c.profile] == nil || slices.Contains(known[c.profile], key):
		case c.profile == Gemini && key == "$defs" || key == "definitions":
			c.add("references", at, "%s are for references", key)
		default:
			c.add("keywords", at, "%s is not among the keywords that are taken", clip(key))
		}
	}
}

// types checks that a schema states its type.
func (c *check) types(s map[string]any, place string) {
	if !c.in(OpenAIStrict, Gemini) {
		return
	}
	kind, there := s["type"]
	switch list, many := kind.([]any); {
	case many && c.profile == Gemini:
		c.add("type", place+"/type", "%s is a list; one type is taken, and anyOf of several", show(kind))
	case many:
		for _, x := range list {
			if name, _ := x.(string); !slices.Contains(jsonTypes, name) {
				c.add("type", place+"/type", "%s is not a type", show(x))
			}
		}
	case there:
		if name, _ := kind.(string); !slices.Contains(jsonTypes, name) {
			c.add("type", place+"/type", "%s is not a type", show(kind))
		}
	case s["anyOf"] == nil && s["$ref"] == nil:
		c.add("type", place, "there is no type")
	}
}

// gemini checks the rules of Gemini alone.
func (c *check) gemini(s map[string]any, place string) {
	if _, there := s["anyOf"]; there && len(s) > 1 {
		c.add("any-of-alone", place, "anyOf stands beside %s", strings.Join(slices.DeleteFunc(keys(s), func(k string) bool { return k == "anyOf" }), ", "))
	}
	if list, ok := s["enum"].([]any); ok {
		if !hasType(s, "string") {
			c.add("enum", place+"/enum", "only strings are enumerated")
		}
		for i, v := range list {
			if text, ok := v.(string); !ok || text == "" {
				c.add("enum", fmt.Sprintf("%s/enum/%d", place, i), "%s is not a string, or is empty", show(v))
			}
		}
	}
	properties, there := s["properties"].(map[string]any)
	if there && len(properties) == 0 && place != "" {
		c.add("empty-object", place+"/properties", "it is empty; leave it out")
	}
	required, _ := s["required"].([]any)
	for i, x := range required {
		name, _ := x.(string)
		if _, there := properties[name]; !there {
			c.add("required", fmt.Sprintf("%s/required/%d", place, i), "%q is not among the properties", clip(name))
		}
	}
}

// Bounds of strict schemas.
const (
	maxLevels      = 10
	maxProperties  = 5000
	maxValues      = 1000
	maxLetters     = 120_000
	longEnum       = 250
	maxEnumLetters = 15_000
)

// strict checks and counts what is bounded in strict schemas only.
func (c *check) strict(s map[string]any, place string, level int) {
	properties, _ := s["properties"].(map[string]any)
	if level == maxLevels+1 && (hasType(s, "object") || properties != nil) {
		c.add("size", place, "objects nest deeper than %d levels", maxLevels)
	}
	c.properties += len(properties)
	for name := range properties {
		c.letters += utf8.RuneCountInString(name)
	}
	defs, _ := s["$defs"].(map[string]any)
	for name := range defs {
		c.letters += utf8.RuneCountInString(name)
	}
	if list, ok := s["enum"].([]any); ok {
		n := 0
		for _, v := range list {
			if text, ok := v.(string); ok {
				n += utf8.RuneCountInString(text)
			}
		}
		if len(list) > longEnum && n > maxEnumLetters {
			c.add("size", place+"/enum", "%d values have %d characters; more than %d values may have %d", len(list), n, longEnum, maxEnumLetters)
		}
		c.values += len(list)
		c.letters += n
	}
	if text, ok := s["const"].(string); ok {
		c.letters += utf8.RuneCountInString(text)
	}
	if !hasType(s, "object") {
		return
	}
	if rest, there := s["additionalProperties"]; there && rest != false {
		c.limit("open-object", place+"/additionalProperties", "no other members than the properties can be given")
	} else if len(properties) == 0 && !there && place != "" {
		c.limit("open-object", place, "it has no properties, so no members can be given")
	}
}

func (c *check) size() {
	if c.properties > maxProperties {
		c.add("size", "", "%d properties; at most %d are taken", c.properties, maxProperties)
	}
	if c.values > maxValues {
		c.add("size", "", "%d values of enums; at most %d are taken", c.values, maxValues)
	}
	if c.letters > maxLetters {
		c.add("size", "", "names and values have %d characters; at most %d are taken", c.letters, maxLetters)
	}
}

// hasType reports whether a schema has a type, possibly among others.
func hasType(s map[string]any, name string) bool {
	list, _ := s["type"].([]any)
	return s["type"] == name || slices.Contains(list, any(name))
}

// show formats a value for a message.
func show(v any) string {
	if v == nil {
		return "null"
	}
	return clip(fmt.Sprint(v))
}

func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// noLoader refuses to fetch.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(url string) (any, error) { return nil, errors.New(url + " is another document") }

// compile returns an error if a text is not a JSON Schema. It recovers from panics of the
// validator.
func compile(text string) (err error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("compiling it failed: %v", p)
		}
	}()
	const self = "schema:tool"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(self, doc); err != nil {
		return err
	}
	_, err = c.Compile(self)
	return err
}
