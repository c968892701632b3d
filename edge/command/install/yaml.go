package install

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// yamlFormat is YAML in which the section is a key with a list of servers, each of which has the
// member name. It changes only the lines of one entry. It refuses files whose entries are not all
// on lines of their own.
type yamlFormat struct{}

func (yamlFormat) block(section []string, name string, v values) []byte {
	return append([]byte(section[0]+":\n"), yamlEntry("  ", name, v)...)
}

// yamlEntry encodes an entry of the list.
func yamlEntry(indent, name string, v values) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s- name: %s\n", indent, indented(name, "", ""))
	yamlMembers(&b, indent+"  ", v)
	return b.Bytes()
}

// yamlMembers encodes members, each on its own lines. Texts and lists have the same form in JSON
// and YAML.
func yamlMembers(b *bytes.Buffer, indent string, v values) {
	for _, key := range slices.Sorted(maps.Keys(v)) {
		if inner, isObject := v[key].(values); isObject {
			fmt.Fprintf(b, "%s%s:\n", indent, key)
			yamlMembers(b, indent+"  ", inner)
			continue
		}
		fmt.Fprintf(b, "%s%s: %s\n", indent, key, strings.Join(strings.Fields(string(indented(v[key], "", ""))), " "))
	}
}

var errNoList = errors.New("its list of servers is not one entry after the other on lines of their own")

func (f yamlFormat) merge(text []byte, section []string, name string, v values, replace bool) ([]byte, error) {
	key := section[0]
	was, err := yamlServers(text, key)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(was.servers, func(s any) bool { return yamlName(s) == name })
	fresh, err := yamlServers(f.block(section, name, v), key)
	if err != nil {
		return nil, err
	}
	switch {
	case at >= 0 && reflect.DeepEqual(was.servers[at], fresh.servers[0]):
		return text, nil
	case at >= 0 && !replace:
		return nil, errThere
	}
	after, err := yamlPlace(text, key, name, v, at, len(was.servers))
	if err != nil {
		return nil, err
	}
	is, err := yamlServers(after, key)
	if err != nil || !reflect.DeepEqual(is.rest, was.rest) {
		return nil, errNoList
	}
	want := slices.Clone(was.servers)
	if at < 0 {
		want = append(want, fresh.servers[0])
	} else {
		want[at] = fresh.servers[0]
	}
	if !reflect.DeepEqual(is.servers, want) {
		return nil, errNoList
	}
	return after, nil
}

// yamlFile is a decoded file: the list of servers, and the remaining members.
type yamlFile struct {
	servers []any
	rest    map[string]any
}

func yamlServers(text []byte, key string) (f yamlFile, _ error) {
	if err := yaml.Unmarshal(text, &f.rest); err != nil {
		return f, errors.New("it is not a YAML mapping")
	}
	list := f.rest[key]
	delete(f.rest, key)
	servers, isList := list.([]any)
	if list != nil && !isList {
		return f, errNoList
	}
	f.servers = servers
	return f, nil
}

func yamlName(server any) string {
	members, _ := server.(map[string]any)
	name, _ := members["name"].(string)
	return name
}

// yamlPlace returns the file text with the entry at the index at of its list. A negative index
// appends the entry. count is the number of entries in text.
func yamlPlace(text []byte, key, name string, v values, at, count int) ([]byte, error) {
	lines := slices.Collect(strings.Lines(string(text)))
	if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
		lines[n-1] += "\n"
	}
	end := "\n"
	if len(lines) > 0 && strings.HasSuffix(lines[0], "\r\n") {
		end = "\r\n"
	}
	written := func(entry []byte) string { return strings.ReplaceAll(string(entry), "\n", end) }
	header := regexp.MustCompile(`^` + regexp.QuoteMeta(key) + `:\s*(\[\s*\])?\s*(#.*)?\r?\n$`)
	first := slices.IndexFunc(lines, header.MatchString)
	switch {
	case first < 0 && count > 0:
		return nil, errNoList
	case first < 0:
		return []byte(strings.Join(lines, "") + written(yamlFormat{}.block([]string{key}, name, v))), nil
	case count == 0:
		lines[first] = written(yamlFormat{}.block([]string{key}, name, v))
		return []byte(strings.Join(lines, "")), nil
	}
	starts, indent := yamlStarts(lines, first+1)
	if len(starts) != count+1 {
		return nil, errNoList
	}
	from, to := starts[count], starts[count]
	if at >= 0 {
		from, to = starts[at], starts[at+1]
	}
	return []byte(strings.Join(lines[:from], "") + written(yamlEntry(indent, name, v)) + strings.Join(lines[to:], "")), nil
}

// yamlStarts returns the first lines of the entries of a list, followed by the line after the last
// entry, and the indentation of the entries.
func yamlStarts(lines []string, from int) (starts []int, indent string) {
	last := from
	for i := from; i < len(lines); i++ {
		bare := strings.TrimLeft(lines[i], " ")
		space := lines[i][:len(lines[i])-len(bare)]
		switch {
		case strings.TrimSpace(bare) == "" || strings.HasPrefix(bare, "#"):
			continue
		case strings.HasPrefix(bare, "- ") && (len(starts) == 0 || space == indent):
			starts, indent = append(starts, i), space
		case len(starts) == 0 || len(space) <= len(indent):
			return append(starts, last), indent
		}
		last = i + 1
	}
	return append(starts, last), indent
}
