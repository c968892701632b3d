package quota

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]struct {
		calls  int
		period time.Duration
	}{
		"600/1m": {600, time.Minute}, "10/s": {10, time.Second}, "1/h": {1, time.Hour}, " 1000/24h ": {1000, 24 * time.Hour}, "1000000/1s": {1_000_000, time.Second},
	} {
		if calls, period, err := ParseRate(text); err != nil || calls != want.calls || period != want.period {
			t.Errorf("ParseRate(%q) = %d, %s, %v; want %+v", text, calls, period, err, want)
		}
	}
	for _, text := range []string{"", "600", "600/", "/1m", "0/1m", "-1/1m", "1.5/s", "600/0s", "600/-1m", "600/1y", "1000001/1s", "1/8785h", "1/1m/1m"} {
		if calls, period, err := ParseRate(text); err == nil {
			t.Errorf("ParseRate(%q) = %d, %s; want an error", text, calls, period)
		} else if !strings.Contains(err.Error(), text) {
			t.Errorf("the error of ParseRate(%q) does not name it: %v", text, err)
		}
	}
}

func TestRulesAreValidated(t *testing.T) {
	good := Rule{Name: "a", Per: PerPrincipal, Budget: Budget{Interval: time.Second, Burst: 10}}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*Rule){
		"name": func(r *Rule) { r.Name = "" }, "per": func(r *Rule) { r.Per = "everybody" }, "tools": func(r *Rule) { r.Tools = pattern.NewList([]string{""}) },
		"rate": func(r *Rule) { r.Budget.Interval = 0 }, "burst": func(r *Rule) { r.Budget.Burst = 0 },
	} {
		r := good
		change(&r)
		if err := r.Validate(); err == nil || !strings.HasPrefix(err.Error(), what+":") {
			t.Errorf("a rule with a bad %s: %v", what, err)
		}
	}
	large := good
	large.Budget.Burst = int(maxPeriod/time.Second) + 1
	if err := large.Validate(); err == nil {
		t.Error("a budget that takes more than a year to be whole again is valid")
	}
}

func TestToolsOfARule(t *testing.T) {
	r := Rule{Tools: pattern.NewList([]string{"admin_*", "ship"})}
	for tool, want := range map[string]bool{"admin_": true, "admin_drop": true, "ship": true, "shipment": false, "Admin_x": false, "": false} {
		if got := r.about(&Call{Tool: tool}); got != want {
			t.Errorf("about %q: %v", tool, got)
		}
	}
	if all := (Rule{}); !all.about(&Call{Tool: "x"}) {
		t.Error("a rule without tools is about none")
	}
}

// Callers share a budget exactly if the rule says so.
func TestKeys(t *testing.T) {
	ann := mcp.Principal{Issuer: "https://a", Subject: "ann", Client: "cli"}
	ben := mcp.Principal{Issuer: "https://a", Subject: "ben", Client: "cli"}
	other := mcp.Principal{Issuer: "https://b", Subject: "ann", Client: "cli"}
	client := mcp.Principal{Issuer: "https://a", Subject: "ann", SubjectIsClient: true, Client: "ann"}
	one, two := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	call := func(p mcp.Principal, from netip.Addr, tool, backend string) *Call {
		return &Call{Principal: p, From: from, Tool: tool, Backend: backend}
	}
	base := call(ann, one, "t", "b")
	for _, c := range []struct {
		what  string
		per   Per
		other *Call
		same  bool
	}{
		{"another address", PerPrincipal, call(ann, two, "t", "b"), true},
		{"another tool", PerPrincipal, call(ann, one, "u", "b"), true},
		{"another subject", PerPrincipal, call(ben, one, "t", "b"), false},
		{"another issuer", PerPrincipal, call(other, one, "t", "b"), false},
		{"a client of that name", PerPrincipal, call(client, one, "t", "b"), false},
		{"a client of that name", PerPrincipalTool, call(client, one, "t", "b"), false},
		{"a client of that name", PerPrincipalBackend, call(client, one, "t", "b"), false},
		{"anonymous", PerPrincipal, call(mcp.Principal{}, one, "t", "b"), false},
		{"another tool", PerPrincipalTool, call(ann, one, "u", "b"), false},
		{"another backend", PerPrincipalTool, call(ann, one, "t", "c"), true},
		{"another backend", PerPrincipalBackend, call(ann, one, "t", "c"), false},
		{"another subject", PerClient, call(ben, one, "t", "b"), true},
		{"another issuer", PerClient, call(other, one, "t", "b"), false},
		{"another subject", PerTool, call(ben, two, "t", "b"), true},
		{"another tool", PerTool, call(ann, one, "u", "b"), false},
	} {
		r := Rule{Name: "r", Per: c.per}
		if same := r.key(base) == r.key(c.other); same != c.same {
			t.Errorf("per %s, %s: one budget: %v", c.per, c.what, same)
		}
	}
	r := Rule{Name: "r", Per: PerPrincipal}
	if r.key(call(mcp.Principal{}, one, "", "")) == r.key(call(mcp.Principal{}, two, "", "")) {
		t.Error("anonymous callers of two addresses share a budget")
	}
	r.Per = PerClient
	if r.key(call(mcp.Principal{Issuer: "https://a", Subject: "ann"}, one, "", "")) == r.key(call(mcp.Principal{Issuer: "https://a", Subject: "ben"}, one, "", "")) {
		t.Error("principals without a client share a budget")
	}
}
