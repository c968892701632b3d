package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/mcpedge/mcpedge/edge/config"
)

// schema is what is read of a JSON schema.
type schema struct {
	Type        string            `json:"type"`
	Description string            `json:"description"`
	Properties  json.RawMessage   `json:"properties"`
	Items       *schema           `json:"items"`
	AnyOf       []json.RawMessage `json:"anyOf"`
	Pattern     string            `json:"pattern"`
	Additional  json.RawMessage   `json:"additionalProperties"`
}

// settingsPage has a row for each key of the edge's file: its type, its default, and what its field's comment says. The keys come from
// the schema of the chart, which is made from the settings.
func settingsPage(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "deploy/chart/values.schema.json")) // #nosec G304 -- of the repository
	if err != nil {
		return "", err
	}
	var chart struct {
		Properties struct {
			Config schema `json:"config"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(text, &chart); err != nil {
		return "", err
	}
	defaults, err := defaultSettings()
	if err != nil {
		return "", err
	}
	p := settingsTable{usages: config.Usages()}
	p.WriteString("# Settings\n\nEvery key of the edge's file, made from the code. [Configuration](../configuration.md) says how files, the environment and " +
		"flags go together, and what a client meets at each bound. `[]` stands for an entry of a list, `NAME` for a key of your own.\n\n" +
		"| key | type | default | what it is |\n|---|---|---|---|\n")
	if err := p.rows("", &chart.Properties.Config, defaults); err != nil {
		return "", err
	}
	return p.String(), nil
}

// defaultSettings are the settings of an edge without a file, as a file has them.
func defaultSettings() (map[string]any, error) {
	text, err := yaml.Marshal(config.Default())
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, yaml.Unmarshal(text, &out)
}

// settingsTable is the table under way.
type settingsTable struct {
	strings.Builder
	// usages are the descriptions of settings by their keys.
	usages map[string]string
}

// rows writes the properties of an object, whose defaults are def.
func (p *settingsTable) rows(prefix string, s *schema, def map[string]any) error {
	return members(s.Properties, func(name string, value json.RawMessage) error {
		var property schema
		if err := json.Unmarshal(value, &property); err != nil {
			return fmt.Errorf("%s%s: %w", prefix, name, err)
		}
		return p.row(prefix+name, &property, def[name])
	})
}

func (p *settingsTable) row(key string, s *schema, def any) error {
	var extra schema
	if len(s.Additional) > 0 && s.Additional[0] == '{' {
		if err := json.Unmarshal(s.Additional, &extra); err != nil {
			return err
		}
	}
	value := shown(def)
	if n, ok := def.(uint64); ok && s.kind() == "size" {
		value = config.Bytes(n).String() // #nosec G115 -- it was a Bytes before
	}
	fmt.Fprintf(p, "| %s | %s | %s | %s |\n", code(key), s.kind(), code(value), cell(p.what(key, s)))
	inner, _ := def.(map[string]any)
	switch {
	case len(s.Properties) > 0:
		return p.rows(key+".", s, inner)
	case s.Items != nil && len(s.Items.Properties) > 0:
		return p.rows(key+"[].", s.Items, nil)
	case len(extra.Properties) > 0:
		return p.rows(key+".NAME.", &extra, nil)
	}
	return nil
}

// what returns the description of a setting, or else that of its field.
func (p *settingsTable) what(key string, s *schema) string {
	if usage, ok := p.usages[key]; ok {
		return usage
	}
	return s.Description
}

// kind is a schema's type as a person calls it.
func (s *schema) kind() string {
	switch {
	case strings.Contains(s.Pattern, "ns|us"):
		return "duration"
	case len(s.AnyOf) > 0 && strings.Contains(string(s.AnyOf[len(s.AnyOf)-1]), "KiB"):
		return "size"
	case s.Type == "array" && s.Items != nil && s.Items.Type != "":
		return "list of " + s.Items.Type
	case s.Type == "":
		return "any"
	}
	return s.Type
}

// shown is a default as a file would have it; empty: it is the type's zero value.
func shown(def any) string {
	switch v := def.(type) {
	case nil, map[string]any:
		return ""
	case []any:
		if len(v) == 0 {
			return ""
		}
	case string:
		return v
	case bool:
		if !v {
			return ""
		}
	}
	text, err := yaml.Marshal(def)
	if err != nil {
		return fmt.Sprint(def)
	}
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\n", " "))
}

// members has each called for the members of a JSON object, in their order.
func members(object json.RawMessage, each func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(strings.NewReader(string(object)))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := each(fmt.Sprint(name), value); err != nil {
			return err
		}
	}
	return nil
}
