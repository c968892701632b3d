package config

import (
	"fmt"
	"strings"
)

// flagPaths maps each flag, also of earlier versions, to the key that sets the same: log-level to log.level.
func flagPaths() map[string]string {
	out := map[string]string{}
	for _, name := range formerFlagNames() {
		if key, _ := keyOfFormerFlag(name); key != "" {
			out[name] = key
		}
	}
	for _, t := range twins {
		out[t.flag] = t.key
	}
	return out
}

// flagHint returns the key to write in the file for a flag whose key has another name. It is empty
// if there is no such flag.
func flagHint(name string) string {
	path := flagPaths()[name]
	if path == "" || path[strings.LastIndexByte(path, '.')+1:] == name {
		return ""
	}
	return fmt.Sprintf("%s is a flag: %s", name, flagAsKey(name))
}

// flagAsKey returns what to write in the file for a flag.
func flagAsKey(name string) string {
	parts := strings.Split(flagPaths()[name], ".")
	if len(parts) == 1 {
		return fmt.Sprintf("write %s: … at the top of the file", parts[0])
	}
	return fmt.Sprintf("write %s: …%s in the file", strings.Join(parts, ": {"), strings.Repeat("}", len(parts)-1))
}

// isFlagOf reports whether a name more likely means a flag than a key of the same name elsewhere:
// at the top, and in the section that has the flag's key.
func isFlagOf(name string, in section) bool {
	above, _, nested := strings.Cut(flagPaths()[name], ".")
	return in.path == "" || nested && above == in.path
}
