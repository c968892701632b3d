package config

import (
	"fmt"
)

// Names are a list of texts such as mcp:read or https://example.com. goccy/go-yaml takes a text with a colon for a mapping
// where it stands in a sequence within a flow mapping, {scopes: [mcp:read]}, though YAML has one only before a space
// (YAML 1.2.2, section 7.3.3): here it is read as the text that it is.
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
			return fmt.Errorf("entry %d is no text: write it in quotation marks", len(list)+1)
		}
		list = append(list, text)
	}
	*n = list
	return nil
}

// plain is a text, or one that was taken for a mapping.
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
