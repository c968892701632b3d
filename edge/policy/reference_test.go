package policy

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

var cases = flag.Int("policy-cases", 100_000, "drawn decisions that TestAgainstReference compares")

// outcome is what an expression of the reference comes to.
type outcome byte

const (
	no outcome = iota
	yesIndeed
	fails
)

// world is what a drawn expression looks at.
type world struct {
	who    mcp.Principal
	target Target
	args   map[string]any
}

// drawn is an expression: its text for CEL, and what it comes to by plain Go.
type drawn struct {
	text string
	eval func(w *world) outcome
	// arguments: it looks at them.
	arguments bool
}

func truthOf(v bool) outcome {
	if v {
		return yesIndeed
	}
	return no
}

var (
	drawnNames  = []string{"ship", "admin_ship", "docs://a/b", "docs://secret/x", "a/ship", "tell"}
	drawnScopes = []string{"read", "write", "admin", "other"}
	regions     = []string{"eu", "us"}
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func subset(r *rand.Rand, list []string) (out []string) {
	for _, s := range list {
		if r.IntN(2) == 0 {
			out = append(out, s)
		}
	}
	return out
}

// member is a member of claims or arguments; false: there is none.
func member(m map[string]any, name string) (string, bool) {
	s, ok := m[name].(string)
	return s, ok
}

func drawExpression(r *rand.Rand, depth int) drawn {
	if depth > 0 {
		a := drawExpression(r, depth-1)
		if r.IntN(4) == 0 {
			return drawn{"!(" + a.text + ")", func(w *world) outcome {
				switch a.eval(w) {
				case fails:
					return fails
				case no:
					return yesIndeed
				}
				return no
			}, a.arguments}
		}
		b := drawExpression(r, depth-1)
		// In && a false side wins over a failing one, and so does a true side in ||.
		op, wins := "&&", no
		if r.IntN(2) == 0 {
			op, wins = "||", yesIndeed
		}
		return drawn{"(" + a.text + " " + op + " " + b.text + ")", func(w *world) outcome {
			x, y := a.eval(w), b.eval(w)
			switch {
			case x == wins || y == wins:
				return wins
			case x == fails || y == fails:
				return fails
			}
			return x
		}, a.arguments || b.arguments}
	}
	name, scope, region := pick(r, drawnNames), pick(r, drawnScopes), pick(r, regions)
	nameOf := func(w *world, kinds ...Kind) string {
		if slices.Contains(kinds, w.target.Kind) {
			return w.target.Name
		}
		return ""
	}
	switch r.IntN(13) {
	case 0:
		return drawn{fmt.Sprintf("tool.name == %q", name), func(w *world) outcome { return truthOf(nameOf(w, Tool) == name) }, false}
	case 1:
		return drawn{fmt.Sprintf("prompt.name.startsWith(%q)", name[:2]), func(w *world) outcome {
			return truthOf(strings.HasPrefix(nameOf(w, Prompt), name[:2]))
		}, false}
	case 2:
		return drawn{fmt.Sprintf("resource.uri.contains(%q)", name[:4]), func(w *world) outcome {
			return truthOf(strings.Contains(nameOf(w, Resource, Template), name[:4]))
		}, false}
	case 3:
		return drawn{fmt.Sprintf("%q in principal.scopes", scope), func(w *world) outcome { return truthOf(slices.Contains(w.who.Scopes, scope)) }, false}
	case 4:
		return drawn{fmt.Sprintf("%q in principal.roles", scope), func(w *world) outcome { return truthOf(slices.Contains(w.who.Roles, scope)) }, false}
	case 5:
		return drawn{fmt.Sprintf("principal.claims.region == %q", region), func(w *world) outcome {
			have, ok := claimOfWorld(w)
			if !ok {
				return fails
			}
			return truthOf(have == region)
		}, false}
	case 6:
		return drawn{"has(principal.claims.region)", func(w *world) outcome {
			_, ok := claimOfWorld(w)
			return truthOf(ok)
		}, false}
	case 7:
		return drawn{"tool.annotations.destructive", func(w *world) outcome { return truthOf(w.target.Kind == Tool && w.target.Hints.Destructive) }, false}
	case 8:
		return drawn{"principal.anonymous", func(w *world) outcome { return truthOf(w.who.Subject == "") }, false}
	case 9:
		return drawn{"resource.is_template", func(w *world) outcome { return truthOf(w.target.Kind == Template) }, false}
	case 10:
		return drawn{fmt.Sprintf("arguments.region == %q", region), func(w *world) outcome {
			have, ok := member(w.args, "region")
			if !ok {
				return fails
			}
			return truthOf(have == region)
		}, true}
	case 11:
		return drawn{"has(arguments.region)", func(w *world) outcome {
			_, ok := member(w.args, "region")
			return truthOf(ok)
		}, true}
	default:
		return drawn{"arguments.region == principal.claims.region", func(w *world) outcome {
			a, ok := member(w.args, "region")
			b, there := claimOfWorld(w)
			if !ok || !there {
				return fails
			}
			return truthOf(a == b)
		}, true}
	}
}

// claimOfWorld is the caller's region; false: it has none.
func claimOfWorld(w *world) (region string, ok bool) {
	raw, ok := w.who.Claims["region"]
	_ = json.Unmarshal(raw, &region)
	return region, ok
}

// matches is a pattern by recursion.
func matches(pattern, name string) bool {
	switch {
	case pattern == "":
		return name == ""
	case strings.HasPrefix(pattern, "**"):
		return matches(pattern[2:], name) || name != "" && matches(pattern, name[1:])
	case pattern[0] == '*':
		return matches(pattern[1:], name) || name != "" && name[0] != '/' && matches(pattern, name[1:])
	}
	return name != "" && name[0] == pattern[0] && matches(pattern[1:], name[1:])
}

// reference decides by the settings, one step after the other.
type reference struct {
	s     Settings
	rules []drawn
}

func (f *reference) holds(held []string, scope string) bool {
	for _, h := range held {
		if h == scope || f.holds(f.s.Hierarchy[h], scope) {
			return true
		}
	}
	return false
}

func (f *reference) decide(w *world) Effect {
	effect := f.s.Default
	for i, r := range f.rules {
		if out := r.eval(w); out == fails {
			return Deny
		} else if out == yesIndeed {
			effect = f.s.Rules[i].Then
			break
		}
	}
	if effect != Allow {
		return effect
	}
	for _, one := range f.s.Scopes {
		patterns := map[Kind][]string{Tool: one.Tools, Prompt: one.Prompts, Resource: one.Resources, Template: one.Resources}[w.target.Kind]
		about := len(one.Tools)+len(one.Prompts)+len(one.Resources) == 0
		for _, p := range patterns {
			about = about || matches(p, w.target.Name)
		}
		if !about {
			continue
		}
		for _, scope := range one.Need {
			if !f.holds(w.who.Scopes, scope) {
				return StepUp
			}
		}
		return Allow
	}
	return Allow
}

func drawPolicy(r *rand.Rand) *reference {
	f := &reference{s: Settings{
		Default: pick(r, []Effect{Allow, Hide, Deny}), Lists: pick(r, []Lists{"", Obtainable, Allowed}),
		Hierarchy: map[string][]string{"admin": subset(r, []string{"write", "read"}), "write": subset(r, []string{"read"})},
	}}
	patterns := []string{"*", "**", "ship", "*ship", "admin_*", "docs://**", "docs://*", "docs://secret/**", "a/*", "d**b"}
	for range r.IntN(4) {
		f.s.Scopes = append(f.s.Scopes, Scopes{
			Tools: subset(r, patterns[:r.IntN(6)]), Prompts: subset(r, patterns[:r.IntN(4)]), Resources: subset(r, patterns[:r.IntN(11)]),
			Need: subset(r, drawnScopes),
		})
	}
	for i := range r.IntN(5) {
		e := drawExpression(r, r.IntN(3))
		f.rules = append(f.rules, e)
		f.s.Rules = append(f.s.Rules, Rule{Name: fmt.Sprint("r", i), When: e.text, Then: pick(r, []Effect{Allow, Hide, Deny})})
	}
	return f
}

func drawWorld(r *rand.Rand) *world {
	w := &world{target: Target{
		Kind: pick(r, []Kind{Tool, Prompt, Resource, Template}), Name: pick(r, drawnNames), Hints: Hints{Destructive: r.IntN(2) == 0},
	}}
	w.who.Scopes = subset(r, drawnScopes)
	if r.IntN(4) > 0 {
		w.who.Subject, w.who.Roles = "s", subset(r, drawnScopes)
	}
	if r.IntN(3) > 0 {
		w.who.Claims = claimed(map[string]any{"region": pick(r, regions)})
	}
	w.args = pick(r, possibleArguments)
	return w
}

// possibleArguments stand for all possible arguments: no expression distinguishes others.
var possibleArguments = []map[string]any{{}, {"region": "eu"}, {"region": "us"}, {"region": "elsewhere"}}
