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

// tomlFormat is TOML 1.0, of which it writes texts and lists of texts. It reads the headers of tables alone: a table that is appended to a file
// is valid unless the file has it already, in which case merge finds its header or refuses.
type tomlFormat struct{}

func (tomlFormat) block(section []string, name string, v values) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "[%s]\n", strings.Join(append(slices.Clone(section), name), "."))
	for _, key := range slices.Sorted(maps.Keys(v)) {
		fmt.Fprintf(&b, "%s = %s\n", key, indented(v[key], "", ""))
	}
	return b.Bytes()
}

var errOtherForm = errors.New("it has entries in a form other than tables with a header of their own")

func (f tomlFormat) merge(text []byte, section []string, name string, v values, replace bool) ([]byte, error) {
	block := f.block(section, name, v)
	table := strings.Join(section, `\s*\.\s*`)
	// The section, or a part of it, as a key: inline, with dots, or quoted; and texts of several lines, in which a header may stand.
	if regexp.MustCompile(`(?m)^\s*(\[\s*)?["']?` + table + `["']?\s*(=|\.[^]\n]*=|\.\s*["']|\])|"""|\'\'\'`).Match(text) {
		return nil, errOtherForm
	}
	header := regexp.MustCompile(`^\s*\[\s*` + table + `\s*\.\s*` + regexp.QuoteMeta(name) + `\s*(\]|\.)`)
	var kept, there []byte
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
