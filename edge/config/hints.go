package config

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// hint returns what to write to correct an error of the YAML decoder, or an empty string if it has
// no suggestion.
func (s *source) hint(err error) string {
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		if t := unknown.GetToken(); t != nil {
			at := position{t.Position.Line, t.Position.Column}
			if i := slices.IndexFunc(s.unknown, func(k unknownKey) bool { return k.at == at }); i >= 0 {
				return hintFor(t.Value, s.unknown[i].in)
			}
			return hintFor(t.Value, section{})
		}
	}
	return quotesMissing(s.raw, err, true)
}

// unknownBeside returns an error for each unknown key except the one that err, an error of the YAML
// decoder or nil, reports.
func (s *source) unknownBeside(err error) (errs []error) {
	var reported position
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) && unknown.GetToken() != nil {
		reported = position{unknown.GetToken().Position.Line, unknown.GetToken().Position.Column}
	}
	for _, k := range s.unknown {
		if k.at != reported {
			errs = append(errs, fmt.Errorf("config %s:%d: unknown field %.80q: %s", s.file, k.at.line, k.key, hintFor(k.key, k.in)))
		}
	}
	return errs
}

// typeFault matches the YAML decoder's error for a value of the wrong type, in terms of Go.
var typeFault = regexp.MustCompile(`cannot unmarshal (\S+(?: \{\})?) into Go (?:struct field|value of type) (?:\S+ of type )?(\S+)|(\w+) was used where (\w+) is expected`)

// errorPosition matches the position at the beginning of an error of the YAML decoder.
var errorPosition = regexp.MustCompile(`^\[(\d+):(\d+)\] `)

// decodeError returns an error of the YAML decoder as one line, with the file, the line, the key of
// a wrong value, the fault and advice. It has no values of the file.
func (s *source) decodeError(err error) error {
	text := inYAML(strings.ReplaceAll(strings.TrimSpace(yaml.FormatError(err, false, false)), "\n", "; "))
	advice := s.hint(err)
	where := s.file
	if m := errorPosition.FindStringSubmatch(text); m != nil {
		text, where = text[len(m[0]):], where+":"+m[1]
	}
	var fault yaml.Error
	if strings.HasPrefix(text, "it is ") && errors.As(err, &fault) && fault.GetToken() != nil {
		at := fault.GetToken().Position
		if path := s.paths[position{at.Line, at.Column}]; path != "" {
			text = path + ": " + text
			advice = cmp.Or(advice, sectionFor(path))
		}
	}
	if advice != "" {
		text += ": " + advice
	}
	return fmt.Errorf("config %s: %s", where, text)
}

// sectionFor returns the section to write instead of a value, if the path must be a section and the
// value is probably one of its keys. Otherwise it is empty.
func sectionFor(path string) string {
	above, key := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		above, key = path[:i], path[i+1:]
	}
	switch {
	case key == "max-result":
		return "write max-result: {tokens: 2000}"
	case strings.HasSuffix(above, ".metadata"), strings.HasSuffix(above, ".arguments"):
		return "write " + key + ": {value: …}"
	}
	return ""
}

// tabError is the YAML decoder's error for a line that begins with a tab.
const tabError = "found character '\t' that cannot start any token"

// tabKey is that for the first line of a file.
const tabKey = "tab character cannot use as a map key directly"

// nonMap is the YAML decoder's error for a line of a section that is not a key.
const nonMap = "non-map value is specified"

// inYAML replaces Go's terms in a type error by those of YAML.
func inYAML(text string) string {
	text = strings.Replace(text, nonMap, "the line has no value for a key: write a colon after the key", 1)
	for _, known := range []string{tabError, tabKey} {
		text = strings.Replace(text, known, "the line begins with a tab: indent it with spaces", 1)
	}
	return typeFault.ReplaceAllStringFunc(text, func(fault string) string {
		m := typeFault.FindStringSubmatch(fault)
		return fmt.Sprintf("it is %s where %s is wanted", kindInYAML(m[1]+m[3]), kindInYAML(m[2]+m[4]))
	})
}

// kindInYAML returns the YAML term for a Go type or for a node type of the decoder.
func kindInYAML(name string) string {
	switch name = strings.TrimLeft(name, "*"); {
	case name == "time.Duration":
		return "a duration, such as 30s,"
	case name == "string":
		return "a text"
	case name == "bool":
		return "true or false"
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "uint"):
		return "a whole number"
	case strings.HasPrefix(name, "float"):
		return "a number"
	case strings.HasPrefix(name, "[]"), name == "sequence":
		return "a list"
	case name == "null":
		return "null"
	}
	return "a section with keys of its own"
}

// Nearest returns the name that is most similar to a misspelled one, or an empty text if none is
// similar.
func Nearest(name string, names []string) string {
	name = strings.ToLower(name)
	hyphened := strings.ReplaceAll(name, "_", "-")
	best, distance := "", max(1, len(name)/4)+1
	for _, n := range names {
		if d := min(edits(name, n), edits(hyphened, n)); d < distance {
			best, distance = n, d
		}
	}
	return best
}

// edits returns the number of letters to insert, remove, replace or swap with the next one that
// turn a into b (the optimal string alignment distance).
func edits(a, b string) int {
	var before []int // the row before the last
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j])
			if a[i] != b[j] {
				row[j+1] = min(last[j+1], row[j], last[j]) + 1
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// undefinedFlag is the beginning of package flag's error about an unknown flag.
const undefinedFlag = "flag provided but not defined: -"

// FlagError adds a suggestion to an error about a flag that a command does not have.
func FlagError(command string, fs *flag.FlagSet, err error) error {
	return flagError(command, fs, err, false)
}

// flagError is FlagError. ofSettings is true for commands whose flags are settings.
func flagError(command string, fs *flag.FlagSet, err error, ofSettings bool) error {
	name, found := strings.CutPrefix(err.Error(), undefinedFlag)
	if !found {
		return err
	}
	names := func(fs *flag.FlagSet) (out []string) {
		fs.VisitAll(func(f *flag.Flag) { out = append(out, f.Name) })
		return out
	}
	why := fmt.Sprintf("there is no flag --%s: mcpedge %s --help lists them", name, command)
	var other Config
	if key, constant := keyOfFormerFlag(name); ofSettings && variables()[Variable(key)] && keyOfFlag(name) == "" {
		why = fmt.Sprintf("--%s is no longer a flag: set %s in the file of settings, or %s in the environment%s", name, key, Variable(key), currentValue(key))
	} else if ofSettings && constant != "" {
		why = fmt.Sprintf("--%s is no longer a setting: it is always %s; take it out", name, constant)
	} else if command != serve && slices.Contains(names(flags(serve, &other, new(string))), name) {
		why = fmt.Sprintf("--%s is a flag of mcpedge serve, not of mcpedge %s", name, command)
	} else if meant := Nearest(name, names(fs)); meant != "" {
		why = fmt.Sprintf("there is no flag --%s: --%s may be meant; mcpedge %s --help lists them", name, meant, command)
	}
	return errors.New(why)
}
