//go:build hosts

package hosts

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write what was seen into docs/hosts.md")

// pageLock is held while the page is read and written.
var pageLock sync.Mutex

const page = "../../../docs/hosts.md"

// features are the columns of the first table.
var features = []string{"connect", "list", "call", "progress", "ask", "resources", "prompts", "key", "stdio", "drain", "kill"}

const (
	yes = "yes"
	// nextCall is the cell if a call failed with its replica, and the next one succeeded.
	nextCall = "next call"
)

// cells are what was seen of a host, by feature. What is missing was not seen.
type cells map[string]string

// see sets a cell to yes if it was seen.
func (c cells) see(feature string, seen bool) {
	if seen {
		c[feature] = yes
	}
}

// row returns the row of a host in the table and its notes. Each cell other than yes has its reason.
func (p program) row(t *testing.T, revisions []string, seen cells) (row string, notes []string) {
	t.Helper()
	columns := []string{p.title + " " + p.version(t), strings.Join(revisions, ", ")}
	for _, f := range features {
		cell, reason := "–", p.lacks[f]
		if p.impossible[f] != "" {
			cell, reason = "not possible here", p.impossible[f]
		}
		switch {
		case seen[f] == "" && reason == "":
			t.Errorf("%s was not seen: mend it, or give the reason", f)
		case seen[f] == nextCall && reason == "":
			t.Errorf("%s: the call was lost: mend it, or give the reason", f)
		case seen[f] == yes && reason != "":
			t.Errorf("%s was seen: it is not so that %s", f, reason)
		case seen[f] != "":
			cell = seen[f]
		}
		if reason != "" {
			notes = append(notes, fmt.Sprintf("- %s: %s: %s.", p.title, f, reason))
		}
		columns = append(columns, cell)
	}
	return "| " + strings.Join(columns, " | ") + " |", notes
}

// section is a part of the page between two markers: a table with a row for each host, and notes.
type section struct {
	name, text, inner string
	// at is where inner begins.
	at int
}

func readSection(t *testing.T, name string) section {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)<!-- begin: ` + name + `, made by tests/suites/hosts -->\n(.*?)<!-- end -->`).FindSubmatchIndex(text)
	if found == nil {
		t.Fatalf("%s has no section %s", page, name)
	}
	return section{name: name, text: string(text), inner: string(text[found[2]:found[3]]), at: found[2]}
}

// of returns the lines of a host.
func (s section) of(title string) (row string, notes []string) {
	for line := range strings.Lines(s.inner) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case regexp.MustCompile(`^\| ` + regexp.QuoteMeta(title) + ` [0-9]`).MatchString(line):
			row = line
		case strings.HasPrefix(line, "- "+title+": "):
			notes = append(notes, line)
		}
	}
	return row, notes
}

// compare compares the lines of a host with those on the page, or writes them there.
func compare(t *testing.T, name string, columns []string, title, row string, notes []string) {
	t.Helper()
	slices.Sort(notes)
	pageLock.Lock()
	defer pageLock.Unlock()
	s := readSection(t, name)
	wasRow, wasNotes := s.of(title)
	if wasRow == row && slices.Equal(wasNotes, notes) {
		return
	}
	if !*update {
		t.Errorf("%s has:\n%s\n%s\nseen:\n%s\n%s\n-update writes it", page, wasRow, strings.Join(wasNotes, "\n"), row, strings.Join(notes, "\n"))
		return
	}
	rows := []string{row}
	for _, p := range programs {
		if p.title == title {
			continue
		}
		other, more := s.of(p.title)
		if notes = append(notes, more...); other != "" {
			rows = append(rows, other)
		}
	}
	slices.SortFunc(rows, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	slices.SortFunc(notes, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	inner := "| host | " + strings.Join(columns, " | ") + " |\n" + strings.Repeat("|---", len(columns)+1) + "|\n" + strings.Join(rows, "\n") + "\n"
	if len(notes) > 0 {
		inner += "\n" + strings.Join(notes, "\n") + "\n"
	}
	if err := os.WriteFile(page, []byte(s.text[:s.at]+inner+s.text[s.at+len(s.inner):]), 0o644); err != nil {
		t.Fatal(err)
	}
}

// revisions returns those of MCP that the host used.
func (r *run) revisions() []string {
	var all []string
	for _, q := range r.rec.requests() {
		if q.revision != "" && !slices.Contains(all, q.revision) {
			all = append(all, q.revision)
		}
	}
	slices.Sort(all)
	return all
}
