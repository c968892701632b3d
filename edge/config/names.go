package config

import (
	"fmt"
)

// Names is a list of texts such as mcp:read or https://example.com. goccy/go-yaml reads a text with
// a colon as a mapping if it stands in a sequence within a flow mapping, {scopes: [mcp:read]}. YAML
// requires a space after the colon (YAML 1.2.2, section 7.3.3), so Names reads it as a text.
type Names []string

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (n *Names) UnmarshalYAML(unmarshal func(any) error) error {
	var entries []any
	if err := unmarshal(&entries); err != nil {
		return err
	}
	list := make(Names, 0, len(entries))
	for _, e := range entries {
		text, ok := plain(e)
		if !ok {
			return fmt.Errorf("entry %d is not a string: write it in quotation marks", len(list)+1)
		}
		list = append(list, text)
	}
	*n = list
	return nil
}

// plain returns the text of a value that is a text, or that was read as a mapping.
func plain(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case map[string]any:
		if len(v) != 1 {
			return "", false
		}
		for name, rest := range v {
			text, ok := plain(rest)
			return name + ":" + text, ok
		}
	case uint64, int64, int, bool:
		return fmt.Sprint(v), true
	}
	return "", false
}
