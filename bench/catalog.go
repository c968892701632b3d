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

// catalogCases compare plain calls with those of a tool that the catalog renames, through a set.
func catalogCases() []benchCase {
	var cases []benchCase
	for _, e := range eras {
		for _, n := range []int{8, 64} {
			cases = append(cases, catalogCase(e, n))
		}
	}
	return cases
}

func catalogCase(e era, connections int) benchCase {
	c := benchCase{name: fmt.Sprintf("catalog-%s-%d", e.name, connections), rounds: fine, slice: brief, claims: []claim{
		ratio(callRate, "curated", "plain"), ratio(cpuTime, "curated", "plain").atMost(mostCatalogCost)}}
	c.start = func(f *fleet) ([]subject, error) {
		backends, err := f.service()
		if err != nil {
			return nil, err
		}
		path := filepath.Join(f.dir, "catalog.yaml")
		if err := os.WriteFile(path, []byte(catalogFile), 0o600); err != nil {
			return nil, err
		}
		say := tool("say", echo.arguments, echo.want)
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
			}{{server{"plain", plain}, echo}, {server{"curated", curated}, say}} {
				spoken, err := speaking(e, one.work, connections, one.server)
				if err != nil {
					return nil, err
				}
				subjects = append(subjects, spoken...)
			}
		}
		return inTurn(subjects), nil
	}
	return c
}
