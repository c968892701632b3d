package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpedge/mcpedge/bench/internal/fixture"
	"github.com/mcpedge/mcpedge/bench/internal/load"
)

// work is one request, with what its answer must have in it.
type work struct {
	method, target, params, meta string
	want                         string
	events                       int
	// arguments, which is all that the bridge gets.
	arguments string
}

// tool is the work of calling one.
func tool(name, arguments, want string) work {
	return work{method: "tools/call", target: name, params: `"name":"` + name + `","arguments":` + arguments, want: want, arguments: arguments}
}

// call prepares the work for a client.
func (w work) call(c client) load.Call {
	return load.Wanting(c(w.method, w.target, w.params, w.meta), w.want, w.events)
}

var (
	echo       = tool("echo", `{"text":"hello, edge"}`, "hello, edge")
	long       = tool("length", `{"text":"`+strings.Repeat("The edge passes what it is given. ", 64<<10/34+1)[:64<<10]+`"}`, "65536")
	big        = tool("big", `{}`, "big:")
	structured = tool("measure", `{"text":"north"}`, `"structuredContent"`)
	read       = work{method: "resources/read", target: fixture.BlobURI, params: `"uri":"` + fixture.BlobURI + `"`, want: `"blob"`}
)

// bridge is the bare bridge, in an environment.
type bridge struct {
	name string
	env  []string
}

var (
	bare = bridge{name: "bridge"}
	// tuned collects garbage as rarely as the edge does by default.
	tuned = bridge{"bridge-tuned", []string{"GOGC=400"}}
)

// callCases are plain requests, answered with JSON. The bounds hold on 64 connections.
func callCases() []benchCase {
	var cases []benchCase
	for _, e := range eras {
		for _, n := range []int{1, 8, 64, 512} {
			cases = append(cases, smallCase(e, n))
		}
		cases = append(cases,
			callCase(e.name+"-argument-8", e, long, 8, bare),
			callCase(e.name+"-result-8", e, big, 8, bare),
			callCase(e.name+"-structured-8", e, structured, 8, bare),
			callCase(e.name+"-resource-8", e, read, 8))
	}
	return cases
}

// smallCase is the smallest call on so many connections.
func smallCase(e era, connections int) benchCase {
	name := fmt.Sprintf("%s-%d", e.name, connections)
	if connections != 64 {
		c := callCase(name, e, echo, connections, bare)
		c.claims = append(c.claims, ratio(p99, "edge", "sdk"))
		return c
	}
	c := callCase(name, e, echo, connections, bare, tuned)
	c = c.nearItsBound()
	c.claims = []claim{ratio(callRate, "edge", "bridge").atLeast(0.7), ratio(callRate, "edge", "bridge-tuned"),
		ratio(callRate, "edge", "sdk").atLeast(2), ratio(p99, "edge", "sdk").atMost(1)}
	return c
}

// callCase puts one request to the edge, to the SDK, and to bridges where it is a call of a tool.
func callCase(name string, e era, w work, connections int, bridges ...bridge) benchCase {
	c := benchCase{name: name, rounds: some}
	for _, b := range bridges {
		c.claims = append(c.claims, ratio(callRate, "edge", b.name))
	}
	c.claims = append(c.claims, ratio(callRate, "edge", "sdk"))
	c.start = func(f *fleet) ([]subject, error) {
		servers, backend, err := f.edgeAndSDK(e.sdk...)
		if err != nil {
			return nil, err
		}
		subjects, err := speaking(e, w, connections, servers...)
		if err != nil {
			return nil, err
		}
		for _, b := range bridges {
			bridge, err := f.servingIn(b.env, "bridge", "--backend", backend)
			if err != nil {
				return nil, err
			}
			request := load.Prepare(http.MethodPost, bridge.addr, "/"+w.target, http.Header{"Content-Type": {"application/json"}}, w.arguments)
			subjects = append(subjects, under(b.name, bridge, connections, load.Wanting(request, w.want, 0)))
		}
		return subjects, nil
	}
	return c
}

// server is one that speaks the protocol.
type server struct {
	name string
	proc *process
}

// perClient is how many connections share a client: a server may bound the calls of one session.
const perClient = 64

// speaking makes subjects of servers that all get the same work.
func speaking(e era, w work, connections int, servers ...server) ([]subject, error) {
	return speakingWith(nil, e, w, connections, servers...)
}

// speakingWith does so with more headers in each request.
func speakingWith(more http.Header, e era, w work, connections int, servers ...server) ([]subject, error) {
	var subjects []subject
	for _, s := range servers {
		var calls []load.Call
		for n := 0; n < connections; n += perClient {
			c, err := e.connect(s.proc.addr, more)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			calls = append(calls, w.call(c))
		}
		subjects = append(subjects, under(s.name, s.proc, connections, calls...))
	}
	return subjects, nil
}
