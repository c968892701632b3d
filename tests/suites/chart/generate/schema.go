package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/invopop/jsonschema"
	"gopkg.in/yaml.v3"
)

// schema is values.schema.json. values.yaml says which values there are and of which type, the edge's settings what is in config.
func schema(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, chart, "values.yaml"))
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	all, err := section(document.Content[0])
	if err != nil {
		return nil, err
	}
	described, _ := all.Properties.Get("config")
	config, err := settings(root)
	if err != nil {
		return nil, err
	}
	config.Description = described.Description
	all.Properties.Set("config", config)
	// What Helm itself gives a chart that is part of another.
	all.Properties.Set("global", &jsonschema.Schema{Type: "object"})
	all.Properties.Set("enabled", &jsonschema.Schema{Type: "boolean"})
	all.Version = "http://json-schema.org/draft-07/schema#"
	out, err := json.MarshalIndent(all, "", "  ")
	return append(out, '\n'), err
}

// section is the schema of a mapping whose keys are all of its values.
func section(node *yaml.Node) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		one, err := value(key, node.Content[i+1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key.Value, err)
		}
		s.Properties.Set(key.Value, one)
	}
	return s, nil
}

// comment is what is said of a value: its types, where the default does not tell them, and what it means.
var comment = regexp.MustCompile(`(?s)^# -- (?:\(([a-z/]+)\) )?(.*)$`)

var schemaTypes = map[string]string{"int": "integer", "number": "number", "string": "string", "object": "object", "null": "null"}

// value is the schema of one value. A mapping that is described as a whole is Kubernetes' own and may have any keys.
func value(key, node *yaml.Node) (*jsonschema.Schema, error) {
	paragraphs := strings.Split(key.HeadComment, "\n\n")
	said := comment.FindStringSubmatch(paragraphs[len(paragraphs)-1])
	if said == nil {
		if node.Kind == yaml.MappingNode && len(node.Content) > 0 {
			return section(node)
		}
		return nil, fmt.Errorf("it has no comment that begins with %q", "# -- ")
	}
	s := &jsonschema.Schema{Description: strings.ReplaceAll(said[2], "\n# ", " ")}
	if said[1] != "" {
		for name := range strings.SplitSeq(said[1], "/") {
			if schemaTypes[name] == "" {
				return nil, fmt.Errorf("%q is not a type", name)
			}
			s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Type: schemaTypes[name]})
		}
		return s, nil
	}
	switch node.Kind {
	case yaml.MappingNode:
		s.Type = "object"
	case yaml.SequenceNode:
		s.Type = "array"
	default:
		types := map[string]string{"!!str": "string", "!!int": "integer", "!!float": "number", "!!bool": "boolean"}
		if s.Type = types[node.Tag]; s.Type == "" {
			return nil, fmt.Errorf("say in its comment of which type it is, as in %q", "# -- (int/null) ")
		}
	}
	return s, nil
}
