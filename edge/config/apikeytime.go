package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// timeError is the error of a text that is not a time.
type timeError string

func (e timeError) Error() string {
	return fmt.Sprintf("%.80q is not a time: write it as YYYY-MM-DDThh:mm:ssZ, or a date as YYYY-MM-DD", string(e))
}

// parseTime reads a time in YAML: RFC 3339, or a date, which means its beginning in UTC. null is
// the zero time. The library would read any other text as the zero time, which means never.
func parseTime(t *time.Time, value []byte) (err error) {
	text := strings.TrimSpace(string(value))
	if text == "null" || text == "~" || text == "" {
		return nil
	}
	text = strings.Trim(text, `"'`)
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if *t, err = time.Parse(form, text); err == nil {
			return nil
		}
	}
	return timeError(text)
}

// wrongTimes returns an error for each entry of a file of API keys whose time is invalid, with its
// position. It returns nil if err is not a timeError.
func wrongTimes(raw []byte, err error) error {
	var wrong timeError
	if !errors.As(err, &wrong) {
		return nil
	}
	file, parsed := parser.ParseBytes(raw, 0)
	if parsed != nil {
		return wrong
	}
	var errs []error
	for n := range entriesOf(file) {
		node := keyMember(file, n, "expires")
		if anchor, ok := node.(*ast.AnchorNode); ok {
			node = anchor.Value
		}
		if node == nil {
			continue
		}
		var one timeError
		if !errors.As(parseTime(new(time.Time), []byte(node.String())), &one) {
			continue
		}
		entry := fmt.Sprintf("entry %d", n+1)
		var name string
		if of := keyMember(file, n, "name"); of != nil && yaml.NodeToValue(of, &name) == nil {
			entry += fmt.Sprintf(", %.80q", name)
		}
		at := node.GetToken().Position
		errs = append(errs, fmt.Errorf("[%d:%d] %s: expires: %w", at.Line, at.Column, entry, one))
	}
	if errs == nil {
		return wrong
	}
	return errors.Join(errs...)
}

// entriesOf returns the number of entries of a file that is a list.
func entriesOf(file *ast.File) int {
	for _, doc := range file.Docs {
		if list, ok := doc.Body.(*ast.SequenceNode); ok {
			return len(list.Values)
		}
	}
	return 0
}

// keyMember returns a member of an entry, or nil if it has none.
func keyMember(file *ast.File, entry int, name string) ast.Node {
	path, err := yaml.PathString(fmt.Sprintf("$[%d].%s", entry, name))
	if err != nil {
		return nil
	}
	node, err := path.FilterFile(file)
	if err != nil {
		return nil
	}
	return node
}
