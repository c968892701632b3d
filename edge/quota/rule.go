package quota

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Per is whom a budget belongs to.
type Per string

// Who may have a budget. Callers without a principal have one for each address, as [mcp.CountedAddress] counts it.
const (
	// PerPrincipal: each principal.
	PerPrincipal Per = "principal"
	// PerPrincipalTool: each principal, for each tool.
	PerPrincipalTool Per = "principal+tool"
	// PerPrincipalBackend: each principal, for each backend.
	PerPrincipalBackend Per = "principal+backend"
	// PerClient: each OAuth client, whoever uses it; where the credentials name none, the principal.
	PerClient Per = "client"
	// PerTool: each tool, all callers together.
	PerTool Per = "tool"
)

// pers are all of them.
var pers = []Per{PerPrincipal, PerPrincipalTool, PerPrincipalBackend, PerClient, PerTool}

// Rule gives budgets of calls of tools.
type Rule struct {
	// Name is what the rule is called in errors and metrics; not empty, and no two rules have the same.
	Name string
	// Per is whom a budget belongs to.
	Per Per
	// Tools are patterns of the names of the tools that the rule is about, as clients see them; * is any text without a
	// slash, see [path.Match]. Empty: all tools.
	Tools []string
	// Budget is what each key has.
	Budget Budget
}

// Budget is how often something may happen: Burst at once, and once more in every Interval, but never more than Burst.
type Budget struct {
	// Interval between two calls in the long run, 1 µs at least.
	Interval time.Duration
	// Burst is the most at once, 1 at least. Interval × Burst, after which a budget that was used up is whole again, is at
	// most a year of 366 days.
	Burst int
}

// longest is the longest period of a rate, and the longest time after which a budget is whole again.
const longest = 366 * 24 * time.Hour

// ParseRate reads a rate such as 600/1m, 10/s or 1000/24h: so many calls in a period, of at most 1,000,000 a second.
func ParseRate(text string) (calls int, period time.Duration, _ error) {
	wrong := fmt.Errorf("%q is no rate: write a whole number of calls and a period in ms, s, m or h, such as 600/1m, 10/s or 1000/24h", text)
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
	if period/time.Duration(calls) < time.Microsecond || period > longest {
		return 0, 0, fmt.Errorf("%q: a rate is at most 1000000/1s, and its period at most %s", text, longest)
	}
	return calls, period, nil
}

// Validate reports what is wrong with a rule, with its value and what to do.
func (r *Rule) Validate() error {
	if r.Name == "" || strings.ContainsFunc(r.Name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return fmt.Errorf("name: %q: give the rule a name, of characters that can be printed", r.Name)
	}
	known := false
	for _, p := range pers {
		known = known || p == r.Per
	}
	if !known {
		return fmt.Errorf("per: %q: use principal, principal+tool, principal+backend, client or tool", r.Per)
	}
	for _, p := range r.Tools {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return fmt.Errorf("tools: %q is no pattern: write a tool's name, with * for any text", p)
		}
	}
	switch b := r.Budget; {
	case b.Interval < time.Microsecond || b.Interval > longest:
		return fmt.Errorf("rate: %s between two calls: give 1µs to %s", b.Interval, longest)
	case b.Burst < 1 || time.Duration(b.Burst) > longest/b.Interval:
		return fmt.Errorf("burst: %d: give 1 to %d, the most calls at once that this rate regains within %s", b.Burst, longest/b.Interval, longest)
	}
	return nil
}

// Call is what a rule needs to know of a call of a tool.
type Call struct {
	Principal mcp.Principal
	// From is the client's address; it tells anonymous callers apart. May be the zero Addr.
	From netip.Addr
	// Tool is its name as clients see it, Backend the backend that serves it.
	Tool, Backend string
}

// equal says whether the rules are the same, in name too.
func (r *Rule) equal(o *Rule) bool {
	return r.Name == o.Name && r.Per == o.Per && r.Budget == o.Budget && slices.Equal(r.Tools, o.Tools)
}

// Matches reports whether a pattern of Tools, which is one, names a tool.
func Matches(pattern, tool string) bool {
	ok, _ := path.Match(pattern, tool)
	return ok
}

// about says whether the rule is about the call.
func (r *Rule) about(c *Call) bool {
	if len(r.Tools) == 0 {
		return true
	}
	for _, p := range r.Tools {
		if Matches(p, c.Tool) {
			return true
		}
	}
	return false
}

// key names the budget that the call is charged to. The parts are told apart by bytes that no name, no issuer's URL and
// no address has.
func (r *Rule) key(c *Call) string {
	caller := c.Principal.Key()
	if caller == "" && c.From.IsValid() {
		caller = "\x01" + mcp.CountedAddress(c.From).String()
	}
	switch r.Per {
	case PerTool:
		return r.Name + "\x02" + c.Tool
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
