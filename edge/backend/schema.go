package backend

import (
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// noLoader refuses to fetch schemas from anywhere.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is another document: put the schema itself into $defs", url)
}

// compile prepares a JSON Schema 2020-12 for validation.
func compile(text string) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	const self = "schema:tool"
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(self, doc); err != nil {
		return nil, err
	}
	return c.Compile(self)
}

// unusableSchemas are the tools' schemas that a validator cannot compile. Such a tool is served, but
// its arguments go unvalidated.
func (l *list) unusableSchemas() []string {
	var found []string
	for _, t := range l.tools {
		for _, s := range [...]struct{ field, text string }{
			{"input_schema_json", t.InputSchemaJson}, {"output_schema_json", t.OutputSchemaJson},
		} {
			if s.text == "" {
				continue
			}
			if _, err := compile(s.text); err != nil {
				found = append(found, fmt.Sprintf("Tool %.80q goes unvalidated: %s: %v", t.Name, s.field, err))
			}
		}
	}
	return found
}
