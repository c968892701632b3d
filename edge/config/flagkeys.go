package config

import (
	"fmt"
	"slices"
	"strings"
)

// flagPaths maps each flag, including those of earlier versions, to the key of the same setting:
// log-level to log.level.
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
// for other names.
func flagHint(name string) string {
	path := flagPaths()[name]
	if path == "" || path[strings.LastIndexByte(path, '.')+1:] == name {
		return ""
	}
	if keyOfFlag(name) == "" {
		return fmt.Sprintf("%s is now %s: %s", name, path, flagAsKey(name))
	}
	return fmt.Sprintf("%s is a flag: %s", name, flagAsKey(name))
}

// pathAdvice returns advice for a key of the file that is written as a path, such as tasks.ttl, and for
// a key that is no longer a setting. It is empty for others.
func pathAdvice(key string, in section) string {
	path := key
	if in.path != "" {
		path = in.path + "." + key
	}
	if strings.Contains(key, ".") && slices.ContainsFunc(settings(), func(s setting) bool { return s.key == path }) {
		return inSections(key)
	}
	if constant := fixedKeys["limits."+key]; constant != "" {
		return fmt.Sprintf("%s is no longer a setting: it is always %s; take it out", key, constant)
	}
	if strings.Contains(key, ".") && in.path == "" {
		return replacementOf(key)
	}
	return ""
}

// flagAsKey returns what to write in the file for a flag.
func flagAsKey(name string) string { return inSections(flagPaths()[name]) }

// inSections returns what to write in the file for the path of a key.
func inSections(path string) string {
	parts := strings.Split(path, ".")
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
