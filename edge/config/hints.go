package config

import (
	"errors"
	"flag"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// hint says what to write instead of what an error of the YAML decoder is about; empty: nothing is known.
func hint(err error) string {
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		if t := unknown.GetToken(); t != nil {
			return placeOf(t.Value)
		}
	}
	return ""
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

// place is where a key may stand: the key of the section it belongs under, or empty at the top.
type place struct{ key, under string }

// places are all keys of the configuration file.
func places() []place {
	var out []place
	var walk func(t reflect.Type, under string)
	walk = func(t reflect.Type, under string) {
		for i := range t.NumField() {
			f := t.Field(i)
			key := f.Tag.Get("yaml")
			if key == "" || key == "-" {
				continue
			}
			out = append(out, place{key, under})
			section := f.Type
			for section.Kind() == reflect.Slice || section.Kind() == reflect.Pointer {
				section = section.Elem()
			}
			if section.Kind() == reflect.Struct {
				walk(section, strings.TrimPrefix(under+"."+key, "."))
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
	return out
}

func (p place) String() string {
	switch {
	case p.under == "":
		return "at the top, not indented"
	case p.under == "backends":
		return "under a backend of the list backends"
	}
	return "under " + p.under
}

// placeOf says where an unknown key belongs, or which one may be meant.
func placeOf(key string) string {
	all := places()
	var where []string
	for _, p := range all {
		if p.key == key {
			where = append(where, p.String())
		}
	}
	if len(where) > 0 {
		text := fmt.Sprintf("%s belongs %s", key, strings.Join(where, ", or "))
		if i := slices.IndexFunc(all, func(p place) bool { return edits(key, p.key) == 1 }); i >= 0 {
			text += fmt.Sprintf("; %s, %s, may be meant", all[i].key, all[i])
		}
		return text
	}
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.key
	}
	meant := Nearest(key, names)
	if meant == "" {
		return "docs/configuration.md lists the keys"
	}
	for _, p := range all {
		if p.key == meant {
			return fmt.Sprintf("%s, %s, may be meant", meant, p)
		}
	}
	return ""
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
