package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// features are the columns of the documentation's table, each with what its cells say, the first whose steps passed.
var features = []struct {
	name  string
	cells []cell
}{
	{"tools", yes(`tools/call|structured`)},
	{"progress", yes(`progress`)},
	{"logging", yes(`logging|progress and log`)},
	{"cancellation", yes(`cancellation`)},
	{"elicitation", yes(`elicitation`)},
	{"sampling", yes(`sampling`)},
	{"roots", yes(`roots`)},
	{"resources", yes(`resources|^\S+ read$`)},
	{"subscriptions", yes(`subscri`)},
	{"prompts", yes(`prompt`)},
	{"completion", yes(`completion`)},
	{"list changes", yes(`list changed|subscriptions/listen to the list`)},
	{"resumption", yes(`resume`)},
	{"drain", yes(`drained`)},
	{"kill", append(yes(`killed in a call`), cell{"next call", regexp.MustCompile(`after its replica was killed`)})},
	{"tasks", yes(`^((legacy|modern) )?tasks `)},
}

// cell is what a cell of the table says if a step passed that matches.
type cell struct {
	says  string
	steps *regexp.Regexp
}

// yes is the cells of a feature that a client has or does without.
func yes(steps string) []cell { return []cell{{"yes", regexp.MustCompile(steps)}} }

// documented is the page whose table is made from a whole run's results.
const documented = "docs/clients.md"

// The table stands between these lines of the page.
const tableBegin, tableEnd = "<!-- begin: made by make interop -->\n", "<!-- end -->\n"

// table renders what a whole run showed, clients in order of their titles.
func table(clients []*client, all []outcome) string {
	var b strings.Builder
	b.WriteString("| client | revisions | transports |")
	for _, f := range features {
		b.WriteString(" " + f.name + " |")
	}
	b.WriteString("\n|" + strings.Repeat("---|", len(features)+3) + "\n")
	var notes []string
	clients = slices.Clone(clients)
	slices.SortFunc(clients, func(a, b *client) int { return strings.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title)) })
	for _, c := range clients {
		var did said
		var over []string
		for _, o := range all {
			if o.client != c.name {
				continue
			}
			over = append(over, o.transport)
			did.uses = o.uses
			did.speaks, did.lacks, did.notes = append(did.speaks, o.speaks...), append(did.lacks, o.lacks...), append(did.notes, o.notes...)
			did.steps = append(did.steps, o.steps...)
		}
		slices.Sort(did.speaks)
		fmt.Fprintf(&b, "| %s (%s) | %s | %s |", c.Title, did.uses, strings.Join(slices.Compact(did.speaks), ", "), strings.Join(over, ", "))
		for _, f := range features {
			says := "–"
			if i := slices.IndexFunc(f.cells, func(c cell) bool { return slices.ContainsFunc(did.steps, c.steps.MatchString) }); i >= 0 {
				says = f.cells[i].says
			}
			b.WriteString(" " + says + " |")
		}
		b.WriteString("\n")
		slices.Sort(did.lacks)
		for _, l := range slices.Compact(did.lacks) {
			notes = append(notes, fmt.Sprintf("- %s: no %s.\n", c.Title, l))
		}
		slices.Sort(did.notes)
		for _, n := range slices.Compact(did.notes) {
			notes = append(notes, fmt.Sprintf("- %s: %s.\n", c.Title, n))
		}
	}
	return b.String() + "\n" + strings.Join(notes, "")
}

// document writes the table into the page, or, unless write is set, reports that the page has another one.
func document(path, table string, write bool) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, found := bytes.Cut(page, []byte(tableBegin))
	_, tail, ended := bytes.Cut(rest, []byte(tableEnd))
	if !found || !ended {
		return fmt.Errorf("%s lacks the lines %q and %q, between which the table stands", path, tableBegin, tableEnd)
	}
	made := slices.Concat(head, []byte(tableBegin), []byte(table), []byte(tableEnd), tail)
	switch {
	case bytes.Equal(made, page):
		return nil
	case write:
		return os.WriteFile(path, made, 0o644)
	}
	return fmt.Errorf("%s is not what this run showed: run make interop INTEROPFLAGS=-docs and look at what changed; the run's table:\n%s", path, table)
}

// documentSome writes the rows and notes of a table into the page's, which keeps those of other clients.
func documentSome(path, table string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(page), tableBegin)
	had, _, _ := strings.Cut(rest, tableEnd) // document reports a page without it
	head, before := byTitle(had)
	newHead, made := byTitle(table)
	if head != newHead {
		return fmt.Errorf("%s has other columns than this run: run all clients", path)
	}
	maps.Copy(before, made)
	var rows, notes strings.Builder
	byName := func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }
	for _, title := range slices.SortedFunc(maps.Keys(before), byName) {
		rows.WriteString(before[title].row)
		notes.WriteString(before[title].notes)
	}
	return document(path, head+rows.String()+"\n"+notes.String(), true)
}

// section is what a table says about a client, in whole lines.
type section struct{ row, notes string }

// byTitle takes a table apart into its head and what it says about each client.
func byTitle(table string) (head string, sections map[string]section) {
	sections = map[string]section{}
	var titles []string
	for line := range strings.Lines(table) {
		switch note, isNote := strings.CutPrefix(line, "- "); {
		case isNote:
			for _, title := range titles {
				if strings.HasPrefix(note, title+": ") {
					s := sections[title]
					s.notes += line
					sections[title] = s
				}
			}
		case strings.HasPrefix(line, "| client |"), strings.HasPrefix(line, "|--"):
			head += line
		case strings.HasPrefix(line, "| "):
			cell, _, _ := strings.Cut(line[2:], " |")
			title := cell[:strings.LastIndex(cell, " (")] // the library and its version follow
			titles = append(titles, title)
			sections[title] = section{row: line}
		}
	}
	return head, sections
}
