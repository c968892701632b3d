package quota

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// Per selects the owner of a budget.
type Per string

// Owners of budgets. An anonymous caller is identified by its address, as [mcp.CountedAddress]
// groups it.
const (
	// PerPrincipal gives a budget to each principal.
	PerPrincipal Per = "principal"
	// PerPrincipalTool gives each principal a budget for each tool.
	PerPrincipalTool Per = "principal+tool"
	// PerPrincipalBackend gives each principal a budget for each backend.
	PerPrincipalBackend Per = "principal+backend"
	// PerClient gives a budget to each OAuth client, shared by its users, or to the principal if
	// the credentials name no client.
	PerClient Per = "client"
	// PerTool gives each tool a budget, shared by all callers.
	PerTool Per = "tool"
	// PerSet gives each set a budget, shared by all callers. The root counts as one.
	PerSet Per = "set"
	// PerPrincipalSet gives each principal a budget for each set.
	PerPrincipalSet Per = "principal+set"
)

// pers are all of them.
var pers = []Per{PerPrincipal, PerPrincipalTool, PerPrincipalBackend, PerClient, PerTool, PerSet, PerPrincipalSet}

// Rule limits the rate of tool calls.
type Rule struct {
	// Name identifies the rule in errors and metrics. It is unique and not empty.
	Name string
	// Per selects the owner of each budget.
	Per Per
	// Tools are patterns for the names of tools, with the prefixes of their backends. Empty applies
	// the rule to all tools.
	Tools pattern.List
	// Sets are patterns for the names of sets. Empty applies the rule to all calls, those of the root
	// included.
	Sets pattern.List
	// Budget is the budget of each owner.
	Budget Budget
}

// Budget allows Burst calls at once and regains one call in every Interval, up to Burst.
type Budget struct {
	// Interval is the time in which one call is regained, at least 1 µs.
	Interval time.Duration
	// Burst is the most calls at once, at least 1. An exhausted budget is full again after Interval
	// × Burst, at most 366 days.
	Burst int
}

// maxPeriod bounds the period of a rate, and the time in which an exhausted budget is full again.
const maxPeriod = 366 * 24 * time.Hour

// ParseRate parses a rate, calls in a period, such as 600/1m, 10/s or 1000/24h. A rate is at most
// 1,000,000 calls a second.
func ParseRate(text string) (calls int, period time.Duration, _ error) {
	wrong := fmt.Errorf("%q is not a rate: write a whole number of calls and a period in ms, s, m or h, such as 600/1m, 10/s or 1000/24h", text)
	number, unit, ok := strings.Cut(strings.TrimSpace(text), "/")
	calls, err := strconv.Atoi(number)
	if !ok || err != nil || calls < 1 || unit == "" {
		return 0, 0, wrong
	}
	if unit[0] < '0' || unit[0] > '9' {
		unit = "1" + unit
	}
	if period, err = time.ParseDuration(unit); err != nil || period <= 0 {
		return 0, 0, wrong
	}
	if period/time.Duration(calls) < time.Microsecond || period > maxPeriod {
		return 0, 0, fmt.Errorf("%q: a rate is at most 1000000/1s, and its period at most %s", text, maxPeriod)
	}
	return calls, period, nil
}

// Validate returns an error that names the first invalid value of the rule and how to correct it.
func (r *Rule) Validate() error {
	if r.Name == "" || strings.ContainsFunc(r.Name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return fmt.Errorf("name: %q: give the rule a name, of characters that can be printed", r.Name)
	}
	known := false
	for _, p := range pers {
		known = known || p == r.Per
	}
	if !known {
		return fmt.Errorf("per: %q: use principal, principal+tool, principal+backend, client, tool, set or principal+set", r.Per)
	}
	for _, p := range r.Tools {
		if p.String() == "" {
			return errors.New(`tools: "" names no tool: write the name of a tool, with * for any text`)
		}
	}
	for _, p := range r.Sets {
		if p.String() == "" {
			return errors.New(`sets: "" names no set: write the name of a set, with * for any text`)
		}
	}
	switch b := r.Budget; {
	case b.Interval < time.Microsecond || b.Interval > maxPeriod:
		return fmt.Errorf("rate: %s between two calls: give 1µs to %s", b.Interval, maxPeriod)
	case b.Burst < 1 || time.Duration(b.Burst) > maxPeriod/b.Interval:
		return fmt.Errorf("burst: %d: give 1 to %d, the most calls at once that this rate regains within %s", b.Burst, maxPeriod/b.Interval, maxPeriod)
	}
	return nil
}

// Call is a tool call, as far as rules inspect it.
type Call struct {
	Principal mcp.Principal
	// From is the client's address, which identifies an anonymous caller. It may be the zero Addr.
	From netip.Addr
	// Tool is the tool's canonical name, Backend the name of its backend, and Set that of the set in
	// which it is called; empty means the root.
	Tool, Backend, Set string
}

// equal reports whether the rules are equal, including their names.
func (r *Rule) equal(o *Rule) bool {
	return r.Name == o.Name && r.Per == o.Per && r.Budget == o.Budget && r.Tools.Equal(o.Tools) && r.Sets.Equal(o.Sets)
}

// about reports whether the rule applies to the call.
func (r *Rule) about(c *Call) bool {
	return (len(r.Tools) == 0 || r.Tools.Match(c.Tool)) && (len(r.Sets) == 0 || c.Set != "" && r.Sets.Match(c.Set))
}

// key is the key of the budget to which the call is charged. Its separators occur in no name,
// issuer's URL or address.
func (r *Rule) key(c *Call) string {
	caller := c.Principal.Key()
	if caller == "" && c.From.IsValid() {
		caller = "\x01" + mcp.CountedAddress(c.From).String()
	}
	switch r.Per {
	case PerTool:
		return r.Name + "\x02" + c.Tool
	case PerSet:
		return r.Name + "\x02" + c.Set
	case PerPrincipalSet:
		return r.Name + "\x02" + caller + "\x02" + c.Set
	case PerPrincipalTool:
		return r.Name + "\x02" + caller + "\x02" + c.Tool
	case PerPrincipalBackend:
		return r.Name + "\x02" + caller + "\x02" + c.Backend
	case PerClient:
		if c.Principal.Client != "" {
			caller = "\x03" + c.Principal.Issuer + "\x00" + c.Principal.Client
		}
	}
	return r.Name + "\x02" + caller
}
