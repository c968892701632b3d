package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

var (
	// keyFirst matches a line whose value errors may show.
	keyFirst = regexp.MustCompile(`^ *(?:- +)*[A-Za-z0-9_-]+:(?: |$)`)
	// quoted matches a text in quotation marks, or a comment.
	quoted = regexp.MustCompile(`"[^"]*"|'[^']*'|(?:^|\s)#.*$`)
	// withColon matches a text without spaces that has a colon before its end.
	withColon = regexp.MustCompile(`[^\s"'{}\[\],]*:[^\s"'{}\[\],]*[^\s"'{}\[\],:]`)
	// wholeValue matches a key and a value without quotation marks that is not a list or section,
	// or that begins with an IPv6 address.
	wholeValue = regexp.MustCompile(`^\s*(?:- +)*[^\s"'{}\[\],:]+: +(\[[0-9A-Fa-f:.]*\]:.*?|[^\s"'{}\[\]|>&*!%@` + "`" + `].*?)\s*$`)
)

// shownLines is the number of lines before and after an error that the decoder shows.
const shownLines = 3

// quotesMissing returns a hint if quotation marks around a text with a colon would remove a YAML
// syntax error, or move it behind that line; else an empty string. The hint contains the text only
// if shows is set and the decoder's error shows the line, which then may not contain a secret.
func quotesMissing(raw []byte, err error, shows bool) string {
	at, found := syntaxError(err)
	lines := bytes.SplitAfter(raw, []byte("\n"))
	if !found || at.line < 1 || at.line > len(lines) {
		return ""
	}
	before, line, after := bytes.Join(lines[:at.line-1], nil), string(lines[at.line-1]), bytes.Join(lines[at.line:], nil)
	for _, part := range colons(strings.TrimRight(line, "\r\n")) {
		text := line[part[0]:part[1]]
		mended := line[:part[0]] + `"` + text + `"` + line[part[1]:]
		_, e := parser.ParseBytes(bytes.Join([][]byte{before, []byte(mended), after}, nil), 0)
		const marks = 2 // the two quotation marks move an error that remains by two columns
		if still, found := syntaxError(e); found && (still.line < at.line || still.line == at.line && still.column <= at.column+marks) {
			continue
		}
		if !shows || !keyFirst.MatchString(line) || slices.ContainsFunc(lines[max(0, at.line-shownLines-1):min(len(lines), at.line+shownLines)], secretive.Match) {
			return "a text with a colon needs quotation marks here"
		}
		return fmt.Sprintf("a text with a colon needs quotation marks here: write %q", text)
	}
	return ""
}

// syntaxError returns the position of an error of the YAML parser. found is false for other errors.
func syntaxError(err error) (at position, found bool) {
	var syntax *yaml.SyntaxError
	if !errors.As(err, &syntax) || syntax.GetToken() == nil {
		return position{}, false
	}
	p := syntax.GetToken().Position
	return position{p.Line, p.Column}, true
}

// colons returns the ranges of the texts in a line that have a colon and no quotation marks: words
// first, then the whole value.
func colons(line string) (parts [][2]int) {
	plain := quoted.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat(" ", len(s)) })
	for _, m := range withColon.FindAllStringIndex(plain, -1) {
		parts = append(parts, [2]int{m[0], m[1]})
	}
	if m := wholeValue.FindStringSubmatchIndex(plain); m != nil && strings.Contains(plain[m[2]:m[3]], ":") && !strings.ContainsAny(line[m[2]:m[3]], `"\`) {
		parts = append(parts, [2]int{m[2], m[3]})
	}
	return parts
}
