package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// features are the columns of the documentation's table, each with the steps that show it.
var features = []struct {
	name  string
	steps *regexp.Regexp
}{
	{"tools", regexp.MustCompile(`tools/call|structured`)},
	{"progress", regexp.MustCompile(`progress`)},
	{"logging", regexp.MustCompile(`logging|progress and log`)},
	{"cancellation", regexp.MustCompile(`cancellation`)},
	{"elicitation", regexp.MustCompile(`elicitation`)},
	{"sampling", regexp.MustCompile(`sampling`)},
	{"roots", regexp.MustCompile(`roots`)},
	{"resources", regexp.MustCompile(`resources|^\S+ read$`)},
	{"subscriptions", regexp.MustCompile(`subscri`)},
	{"prompts", regexp.MustCompile(`prompt`)},
	{"completion", regexp.MustCompile(`completion`)},
	{"list changes", regexp.MustCompile(`list changed|subscriptions/listen to the list`)},
	{"resumption", regexp.MustCompile(`resume`)},
	{"drain", regexp.MustCompile(`drained`)},
	{"tasks", regexp.MustCompile(`^((legacy|modern) )?tasks `)},
}

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
			did.speaks, did.lacks = append(did.speaks, o.speaks...), append(did.lacks, o.lacks...)
			did.steps = append(did.steps, o.steps...)
		}
		slices.Sort(did.speaks)
		fmt.Fprintf(&b, "| %s (%s) | %s | %s |", c.Title, did.uses, strings.Join(slices.Compact(did.speaks), ", "), strings.Join(over, ", "))
		for _, f := range features {
			cell := "–"
			if slices.ContainsFunc(did.steps, f.steps.MatchString) {
				cell = "yes"
			}
			b.WriteString(" " + cell + " |")
		}
		b.WriteString("\n")
		slices.Sort(did.lacks)
		for _, l := range slices.Compact(did.lacks) {
			notes = append(notes, fmt.Sprintf("- %s: no %s.\n", c.Title, l))
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
