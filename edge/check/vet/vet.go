// Package vet validates a backend's answers by the contract, mcpedge.v1: entries of lists,
// Describe, and fields that contain JSON or URIs.
//
// The function of an entry returns the key that must be unique within its list, and an error if the
// entry must not be shown. It repairs minor defects in place, and calls note with a sentence about
// each. All functions are safe for concurrent use with different entries.
package vet

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// Tool validates an entry of a list of tools. The key is its name.
func Tool(t *pb.Tool, note func(string)) (string, error) {
	if t == nil || t.Name == "" {
		return "", fmt.Errorf("name is empty: it is required")
	}
	if !toolName(t.Name) {
		note(fmt.Sprintf("name %.80q is not 1 to 64 of [A-Za-z0-9_.-]: some clients refuse it", t.Name))
	}
	if t.InputSchemaJson != "" {
		root, err := Object("input_schema_json", t.InputSchemaJson)
		if err != nil {
			return t.Name, err
		}
		if string(root["type"]) != `"object"` {
			return t.Name, fmt.Errorf(`input_schema_json has type %.40q at its root: it must be "object"`, root["type"])
		}
	}
	if t.OutputSchemaJson != "" {
		if _, err := Object("output_schema_json", t.OutputSchemaJson); err != nil {
			return t.Name, err
		}
	}
	t.Icons = icons(t.Icons, note)
	return t.Name, Meta(t.MetaJson)
}

// Resource validates an entry of a list of resources. The key is its URI.
func Resource(r *pb.Resource, note func(string)) (string, error) {
	switch {
	case r == nil || r.Uri == "":
		return "", fmt.Errorf("uri is empty: it is required")
	case r.Name == "":
		return r.Uri, fmt.Errorf("name is empty: it is required")
	}
	if err := uris.Check(r.Uri); err != nil {
		return r.Uri, fmt.Errorf("uri is not a URI: %w", err)
	}
	if r.Size != nil && *r.Size < 0 {
		note(fmt.Sprintf("size is %d: it is left out, since it must not be negative", *r.Size))
		r.Size = nil
	}
	r.Icons = icons(r.Icons, note)
	annotations(r.Annotations, note)
	return r.Uri, Meta(r.MetaJson)
}

// Template validates an entry of a list of resource templates. The key is the template.
func Template(t *pb.ResourceTemplate, note func(string)) (string, error) {
	if t == nil || t.UriTemplate == "" {
		return "", fmt.Errorf("uri_template is empty: it is required")
	}
	if _, err := uris.Parse(t.UriTemplate); err != nil {
		return t.UriTemplate, fmt.Errorf("uri_template is not an RFC 6570 template of the served kinds: %w", err)
	}
	if t.Name == "" {
		return t.UriTemplate, fmt.Errorf("name is empty: it is required")
	}
	t.Icons = icons(t.Icons, note)
	annotations(t.Annotations, note)
	return t.UriTemplate, Meta(t.MetaJson)
}

// Prompt validates an entry of a list of prompts. The key is its name.
func Prompt(p *pb.Prompt, note func(string)) (string, error) {
	if p == nil || p.Name == "" {
		return "", fmt.Errorf("name is empty: it is required")
	}
	seen := make(map[string]bool, len(p.Arguments))
	for i, a := range p.Arguments {
		if a.GetName() == "" {
			return p.Name, fmt.Errorf("arguments[%d].name is empty: it is required", i)
		}
		if seen[a.Name] {
			return p.Name, fmt.Errorf("arguments[%d].name is %.80q, as of one before it", i, a.Name)
		}
		seen[a.Name] = true
	}
	p.Icons = icons(p.Icons, note)
	return p.Name, Meta(p.MetaJson)
}

// Describe repairs a backend's description of itself, in place.
func Describe(d *pb.DescribeResponse, note func(string)) {
	if i := d.Implementation; i != nil {
		if i.Name == "" || i.Version == "" {
			note(fmt.Sprintf("Describe: implementation has name %.40q and version %.40q: both are required", i.Name, i.Version))
		}
		i.Icons = icons(i.Icons, note)
	}
	for id, settings := range d.ExtensionsJson {
		if _, err := Object(fmt.Sprintf("extensions_json[%.80q]", id), settings); err != nil {
			note(fmt.Sprintf("Describe: an extension is left out: %v", err))
			delete(d.ExtensionsJson, id)
		}
	}
	if r := d.Resources; r != nil {
		r.UriPrefixes = slices.DeleteFunc(r.UriPrefixes, func(prefix string) bool {
			err := uris.Check(prefix)
			if err != nil {
				note(fmt.Sprintf("Describe: uri_prefixes has %.80q, which is left out: %v", prefix, err))
			}
			return err != nil
		})
	}
}

// Meta validates a meta_json: empty, or a JSON object.
func Meta(meta string) error {
	if meta == "" {
		return nil
	}
	_, err := Object("meta_json", meta)
	return err
}

func icons(all []*pb.Icon, note func(string)) []*pb.Icon {
	return slices.DeleteFunc(all, func(i *pb.Icon) bool {
		if i.GetSrc() != "" {
			return false
		}
		note("an icon without src is left out: src is required")
		return true
	})
}

func annotations(a *pb.Annotations, note func(string)) {
	if a == nil {
		return
	}
	a.Audience = slices.DeleteFunc(a.Audience, func(r pb.Role) bool {
		if r == pb.Role_ROLE_USER || r == pb.Role_ROLE_ASSISTANT {
			return false
		}
		note(fmt.Sprintf("annotations.audience holds %v, which is left out: it must be user or assistant", r))
		return true
	})
	if p := a.Priority; p != nil && (math.IsNaN(*p) || *p < 0 || *p > 1) {
		note(fmt.Sprintf("annotations.priority is %v, which is left out: it must be between 0 and 1", *p))
		a.Priority = nil
	}
}

// Object parses a JSON object one level deep. It returns an error that names the field if text is
// not an object.
func Object(field, text string) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		return nil, fmt.Errorf("%s is not a JSON object: %w", field, err)
	}
	if members == nil {
		return nil, fmt.Errorf("%s is null: it must be a JSON object, or empty", field)
	}
	return members, nil
}

// toolName reports whether a name is valid for a tool by the contract.
func toolName(name string) bool {
	return len(name) <= 64 && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_.-", r)
	}) < 0
}
