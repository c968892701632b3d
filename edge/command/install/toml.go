package install

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// tomlFormat is TOML 1.0. It writes texts, numbers, lists and inline tables. It reads only the
// headers of tables, and the names in arrays of tables. That is sufficient, because appending a
// table makes a valid file unless the file already has the table, and merge either finds that table
// or refuses the file.
type tomlFormat struct {
	// listed is true if the section is an array of tables, each of which has the member name.
	listed bool
}

func (f tomlFormat) block(section []string, name string, v values) []byte {
	var b bytes.Buffer
	if f.listed {
		fmt.Fprintf(&b, "[[%s]]\nname = %s\n", strings.Join(section, "."), tomlValue(name))
	} else {
		fmt.Fprintf(&b, "[%s]\n", strings.Join(append(slices.Clone(section), name), "."))
	}
	for _, key := range slices.Sorted(maps.Keys(v)) {
		fmt.Fprintf(&b, "%s = %s\n", key, tomlValue(v[key]))
	}
	return b.Bytes()
}

// tomlValue encodes a value in one line. Texts and lists of texts have the same form in JSON and
// TOML.
func tomlValue(v any) []byte {
	members, isTable := v.(values)
	if !isTable {
		return indented(v, "", "")
	}
	var b bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s = %s", key, tomlValue(members[key]))
	}
	return []byte("{" + b.String() + "}")
}

var errOtherForm = errors.New("it has entries in a form other than tables with a header of their own")

// split separates the table of a server and its subtables from the rest of a file.
func (f tomlFormat) split(text []byte, section []string, name string) (kept, there []byte, _ error) {
	table := strings.Join(section, `\s*\.\s*`)
	if f.listed {
		return f.splitListed(text, table, name)
	}
	// Refuse the section, or a part of it, as an inline, dotted or quoted key, and multi-line
	// strings, which could contain a header.
	if regexp.MustCompile(`(?m)^\s*(\[\s*)?["']?` + table + `["']?\s*(=|\.[^]\n]*=|\.\s*["']|\])|"""|\'\'\'`).Match(text) {
		return nil, nil, errOtherForm
	}
	header := regexp.MustCompile(`^\s*\[\s*` + table + `\s*\.\s*` + regexp.QuoteMeta(name) + `\s*(\]|\.)`)
	inside := false
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("[")) {
			inside = header.Match(line)
		}
		if inside {
			there = append(there, line...)
		} else {
			kept = append(kept, line...)
		}
	}
	return kept, there, nil
}

// splitListed is split for an array of tables.
func (tomlFormat) splitListed(text []byte, table, name string) (kept, there []byte, _ error) {
	// Refuse the section as a key, as a single table, or quoted, names that are not a string on one
	// line, and multi-line strings.
	if regexp.MustCompile(`(?m)^\s*["']?` + table + `["']?\s*(=|\.)|^\s*\[\s*["']?` + table + `["']?\s*\]|^\s*\[\[\s*["']` + table + `|"""|\'\'\'`).Match(text) {
		return nil, nil, errOtherForm
	}
	header, below := regexp.MustCompile(`^\s*\[\[\s*`+table+`\s*\]\]`), regexp.MustCompile(`^\s*\[\[?\s*`+table+`\s*\.`)
	named := regexp.MustCompile(`^\s*["']?name["']?\s*=\s*("` + regexp.QuoteMeta(name) + `"|\'` + regexp.QuoteMeta(name) + `\')\s*(#.*)?$`)
	var part []byte
	isEntry, inHead, found := false, false, false
	end := func() {
		if isEntry && found {
			there = append(there, part...)
		} else {
			kept = append(kept, part...)
		}
		part, found = nil, false
	}
	for line := range bytes.Lines(text) {
		switch {
		case !bytes.HasPrefix(bytes.TrimSpace(line), []byte("[")):
			found = found || inHead && named.Match(line)
		case isEntry && below.Match(line):
			inHead = false
		default:
			end()
			isEntry = header.Match(line)
			inHead = isEntry
		}
		part = append(part, line...)
	}
	end()
	return kept, there, nil
}

func (f tomlFormat) merge(text []byte, section []string, name string, v values, replace bool) ([]byte, error) {
	block := f.block(section, name, v)
	kept, there, err := f.split(text, section, name)
	if err != nil {
		return nil, err
	}
	switch {
	case len(there) > 0 && bytes.Equal(bytes.TrimSpace(there), bytes.TrimSpace(block)):
		return text, nil
	case len(there) > 0 && !replace:
		return nil, errThere
	}
	end := []byte("\n")
	if first, _, _ := bytes.Cut(text, end); bytes.HasSuffix(first, []byte("\r")) {
		end = []byte("\r\n")
	}
	if kept = bytes.TrimRight(kept, " \t\r\n"); len(kept) > 0 {
		kept = append(append(kept, end...), end...)
	}
	return append(kept, bytes.ReplaceAll(block, []byte("\n"), end)...), nil
}
