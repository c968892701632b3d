package config

import (
	"errors"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// hint returns what to write instead of what an error of the YAML decoder is about, or an empty string if nothing is known.
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

// unknownBeside returns an error for each unknown key but the one that an error of the YAML decoder is about, which may be nil.
func (s *source) unknownBeside(err error) (errs []error) {
	var told position
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) && unknown.GetToken() != nil {
		told = position{unknown.GetToken().Position.Line, unknown.GetToken().Position.Column}
	}
	for _, k := range s.unknown {
		if k.at != told {
			errs = append(errs, fmt.Errorf("config %s:%d: unknown field %.80q: %s", s.file, k.at.line, k.key, hintFor(k.key, k.in)))
		}
	}
	return errs
}

// typeFault is how the YAML decoder says that a value has the wrong type: in the terms of Go.
var typeFault = regexp.MustCompile(`cannot unmarshal (\S+(?: \{\})?) into Go (?:struct field|value of type) (?:\S+ of type )?(\S+)|(\w+) was used where (\w+) is expected`)

// inYAML says what a value is and what is wanted in the words of YAML.
func inYAML(text string) string {
	return typeFault.ReplaceAllStringFunc(text, func(fault string) string {
		m := typeFault.FindStringSubmatch(fault)
		return fmt.Sprintf("it is %s where %s is wanted", kindInYAML(m[1]+m[3]), kindInYAML(m[2]+m[4]))
	})
}

// kindInYAML is the name of one of Go's types, or of the decoder's own for them, as people who write YAML call it.
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

// Nearest returns the name that is most like a misspelled one, or an empty string if none is like it.
func Nearest(name string, names []string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	best, distance := "", max(1, len(name)/4)+1
	for _, n := range names {
		if d := edits(name, n); d < distance {
			best, distance = n, d
		}
	}
	return best
}

// edits is how many letters must be inserted, removed, replaced or swapped with the next one to make b of a (the optimal
// string alignment distance).
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

// undefined is how package flag begins its error about a flag that does not exist.
const undefined = "flag provided but not defined: -"

// flagError says what may be meant by a flag that a command does not have.
func flagError(command string, fs *flag.FlagSet, err error) error {
	name, found := strings.CutPrefix(err.Error(), undefined)
	if !found {
		return err
	}
	names := func(fs *flag.FlagSet) (out []string) {
		fs.VisitAll(func(f *flag.Flag) { out = append(out, f.Name) })
		return out
	}
	why := fmt.Sprintf("there is no flag --%s: mcpedge %s --help lists them", name, command)
	var other Config
	if command != serve && slices.Contains(names(flags(serve, &other, new(string))), name) {
		why = fmt.Sprintf("--%s is a flag of mcpedge serve, not of mcpedge %s", name, command)
	} else if meant := Nearest(name, names(fs)); meant != "" {
		why = fmt.Sprintf("there is no flag --%s: --%s may be meant; mcpedge %s --help lists them", name, meant, command)
	}
	return errors.New(why)
}
