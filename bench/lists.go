package main

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/mcpedge/mcpedge/bench/internal/load"
)

// listCases are complete listings: one call follows the cursors until there is none, and counts the tools.
// Both sides have the same page size, since a client pays for the whole list and a server should not look
// faster for telling less at a time: the edge's default of 100, and, for 1,000 tools, also the SDK's of
// 1,000. But for the few that are called, the tools and their schemas are the same, byte for byte.
// The eras differ in a page's frame alone, so the older one has but the case with a bound.
func listCases() []benchCase {
	var cases []benchCase
	for _, l := range []struct {
		era         era
		tools, page int
	}{{modern, 10, 100}, {modern, 1000, 100}, {modern, 1000, 1000}, {modern, 10_000, 100}, {legacy, 1000, 100}} {
		cases = append(cases, listCase(l.era, l.tools, l.page))
	}
	return append(cases, backendsCase(modern), backendsCase(legacy))
}

const manyBackends = "20"

// mostGrowth is what a call through 20 backends may cost of one through one.
const mostGrowth = 1.05

func listCase(e era, tools, page int) benchCase {
	c := benchCase{name: fmt.Sprintf("%s-list-%d-by-%d-8", e.name, tools, page), rounds: some,
		claims: []claim{ratio(callRate, "edge", "sdk"), ratio(callRate, "20-backends", "edge"), ratio(cpuTime, "20-backends", "edge")}}
	c.start = func(f *fleet) ([]subject, error) {
		one, many, err := f.oneAndMany(tools, page)
		if err != nil {
			return nil, err
		}
		sdk, err := f.serving("sdk", append([]string{"--tools", strconv.Itoa(tools), "--page-size", strconv.Itoa(page)}, e.sdk...)...)
		if err != nil {
			return nil, err
		}
		var subjects []subject
		for _, s := range []server{{"edge", one}, {"20-backends", many}, {"sdk", sdk}} {
			cl, err := e.connect(s.proc.addr, nil)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			subjects = append(subjects, under(s.name, s.proc, 8, listing(cl, tools)))
		}
		return subjects, nil
	}
	if tools == 1000 {
		// What the number of backends costs is a few percent, if anything.
		c.start, c.rounds, c.slice = several(c.start), 12*shown, 80*time.Millisecond
		c.claims[0] = c.claims[0].atLeast(5)
		c.claims[2] = c.claims[2].atMost(mostGrowth)
	}
	return c
}

// backendsCase is the smallest call through one backend and through 20.
func backendsCase(e era) benchCase {
	return benchCase{name: e.name + "-backends-8", rounds: fine, slice: brief,
		claims: []claim{ratio(callRate, "20-backends", "edge"), ratio(cpuTime, "20-backends", "edge").atMost(mostGrowth)},
		start: several(func(f *fleet) ([]subject, error) {
			one, many, err := f.oneAndMany(1000, 100)
			if err != nil {
				return nil, err
			}
			return speaking(e, echo, 8, server{"edge", one}, server{"20-backends", many})
		})}
}

// oneAndMany are edges with the same tools, in one backend and over 20.
func (f *fleet) oneAndMany(tools, page int) (one, many *process, err error) {
	var edges [2]*process
	for i, backends := range []string{"1", manyBackends} {
		flags, err := f.service("--tools", strconv.Itoa(tools), "--backends", backends)
		if err != nil {
			return nil, nil, err
		}
		if edges[i], err = f.edge(append(flags, "MCPEDGE_LISTS_PAGE_SIZE="+strconv.Itoa(page))...); err != nil {
			return nil, nil, err
		}
	}
	return edges[0], edges[1], nil
}

var (
	cursorMark = []byte(`"nextCursor":"`)
	toolMark   = []byte(`"inputSchema":`)
)

// listing asks for page after page, and wants so many tools in all.
func listing(c client, tools int) load.Call {
	first := c("tools/list", "", "", "")
	next := c("tools/list", "", `"cursor":"@cursor@"`, "")
	return func(conn *load.Conn) error {
		seen := 0
		for r := first; ; {
			a, err := conn.Do(r)
			if err != nil {
				return err
			}
			if a.Status != 200 {
				return fmt.Errorf("status %d: %.300q", a.Status, a.Body)
			}
			seen += bytes.Count(a.Body, toolMark)
			_, rest, more := bytes.Cut(a.Body, cursorMark)
			cursor, _, _ := bytes.Cut(rest, []byte(`"`))
			if !more || len(cursor) == 0 {
				break
			}
			r = next.WithBody(bytes.Replace(next.Body(), []byte("@cursor@"), cursor, 1))
		}
		if seen != tools {
			return fmt.Errorf("%d tools are listed: want %d", seen, tools)
		}
		return nil
	}
}
