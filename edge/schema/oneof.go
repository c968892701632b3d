package schema

import (
	"fmt"
	"strings"
)

// members returns the properties that the branches of a oneOf require: of all branches, and of the
// branches in met. It skips branches that say anything else than that one property is required.
func members(url string, at any, met []int) (all, given []string) {
	_, pointer, _ := strings.Cut(url, "#")
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch node := at.(type) {
		case map[string]any:
			if step != "" {
				at = node[step]
			}
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i < 0 || i >= len(node) {
				return nil, nil
			}
			at = node[i]
		}
	}
	node, _ := at.(map[string]any)
	branches, _ := node["oneOf"].([]any)
	for i, b := range branches {
		branch, _ := b.(map[string]any)
		required, _ := branch["required"].([]any)
		if len(branch) != 1 || len(required) != 1 {
			continue
		}
		name, _ := required[0].(string)
		all = append(all, name)
		for _, m := range met {
			if m == i {
				given = append(given, name)
			}
		}
	}
	return all, given
}
