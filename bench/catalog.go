package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// What a call through a set may cost of CPU, where the catalog renames and describes the tool: that of a call without either.
const mostCatalogCost = 1.03

// catalogFile serves a set as the root, of a group that has the called tool under another name.
const catalogFile = `
catalog:
  default: hide
  tools:
    - backend: bench0
      tool: echo
      name: say
      title: Say
      description: Returns what it is given.
      annotations: {destructive: false}
      groups: [talk]
      arguments:
        text: {description: What to say.}
root: talk
sets:
  talk:
    title: Talk
    include: {groups: [talk]}
`

// pinnedFile serves a set as the root, with a tool of which one argument is pinned.
const pinnedFile = `
catalog:
  tools:
    - backend: bench0
      tool: greet
      groups: [talk]
      arguments:
        word: {value: "hello"}
root: talk
sets:
  talk:
    title: Talk
    include: {groups: [talk]}
`

// curation is a setting of the catalog, with a call that it changes and the one that reaches the backend alike without it.
type curation struct {
	name, file     string
	plain, curated work
	// most is what the call may cost of the other one's CPU; 0: it is only measured.
	most float64
}

var curations = []curation{
	{"catalog", catalogFile, echo, tool("say", echo.arguments, echo.want), mostCatalogCost},
	{"catalog-pinned", pinnedFile, tool("greet", `{"word":"hello","name":"edge"}`, "hello, edge"), tool("greet", `{"name":"edge"}`, "hello, edge"), 0},
}

// catalogCases compare plain calls with those of a tool that the catalog renames, or of which it pins an argument, through a set.
func catalogCases() []benchCase {
	var cases []benchCase
	for _, c := range curations {
		for _, e := range eras {
			for _, n := range []int{8, 64} {
				cases = append(cases, c.benchCase(e, n))
			}
		}
	}
	return cases
}

func (c curation) benchCase(e era, connections int) benchCase {
	cost := ratio(cpuTime, "curated", "plain")
	if c.most > 0 {
		cost = cost.atMost(c.most)
	}
	return benchCase{
		name: fmt.Sprintf("%s-%s-%d", c.name, e.name, connections), rounds: fine, slice: brief,
		claims: []claim{ratio(callRate, "curated", "plain"), cost},
		start:  func(f *fleet) ([]subject, error) { return c.start(f, e, connections) },
	}
}

// start starts edges with and without the curation, in front of one service.
func (c curation) start(f *fleet, e era, connections int) ([]subject, error) {
	backends, err := f.service()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(f.dir, c.name+".yaml")
	if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
		return nil, err
	}
	var subjects []subject
	for range processes {
		plain, err := f.edge(backends...)
		if err != nil {
			return nil, err
		}
		curated, err := f.edge(append(backends[:len(backends):len(backends)], "--config", path)...)
		if err != nil {
			return nil, err
		}
		for _, one := range []struct {
			server
			work
		}{{server{"plain", plain}, c.plain}, {server{"curated", curated}, c.curated}} {
			spoken, err := speaking(e, one.work, connections, one.server)
			if err != nil {
				return nil, err
			}
			subjects = append(subjects, spoken...)
		}
	}
	return inTurn(subjects), nil
}
