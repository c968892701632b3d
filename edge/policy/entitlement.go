package policy

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// AppendEntitlement appends the attributes of a caller that the policy inspects. Callers with equal
// entitlements have equal rights. It contains claims of credentials and must not leave the process.
func (p *Policy) AppendEntitlement(dst []byte, who *mcp.Principal) []byte {
	u := p.uses.variables
	for _, one := range [...]struct{ name, value string }{{varSubject, who.Subject}, {varIssuer, who.Issuer}, {varClient, who.Client}} {
		if u[one.name] {
			dst = appendText(dst, one.value)
		}
	}
	if u[varIsClient] {
		dst = append(dst, boolByte(who.SubjectIsClient))
	}
	if u[varAnonymous] {
		dst = append(dst, boolByte(who.Anonymous()))
	}
	if u[varScopes] {
		dst = appendTexts(dst, who.Scopes)
	} else {
		dst = p.appendScopes(dst, who.Scopes)
	}
	if u[varRoles] {
		dst = appendTexts(dst, who.Roles)
	}
	if p.uses.allClaims {
		for _, name := range sortedKeys(who.Claims) {
			dst = appendText(appendText(dst, name), string(who.Claims[name]))
		}
		return dst
	}
	for _, name := range p.uses.claims {
		value, there := who.Claims[name]
		dst = append(dst, boolByte(there))
		if there {
			dst = appendText(dst, string(value))
		}
	}
	return dst
}

// appendScopes appends a bit for each scope that the policy names, set if it is held.
func (p *Policy) appendScopes(dst []byte, held []string) []byte {
	from := len(dst)
	dst = append(dst, make([]byte, (len(p.scopes.by)+7)/8)...)
	for _, s := range held {
		if i, named := p.scopes.order[s]; named {
			dst[from+i/8] |= 1 << (i % 8)
		}
	}
	return dst
}

func (p *Policy) appendTarget(dst []byte, t *Target) []byte {
	dst = append(dst, byte(t.Kind), t.Hints.bits())
	if p.uses.variables[varMethod] {
		dst = appendText(dst, string(t.Method))
	}
	if p.uses.variables[varSet] {
		dst = appendText(dst, t.Set)
	}
	if p.uses.variables[varVars] {
		vars := t.variables()
		dst = binary.AppendUvarint(dst, uint64(len(vars)))
		for _, name := range sortedKeys(vars) {
			dst = appendText(appendText(dst, name), vars[name])
		}
	}
	return append(appendText(dst, t.Backend), t.Name...)
}

// appendText appends a text with its length, so that different lists of texts have different
// encodings.
func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendTexts(dst []byte, list []string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, s := range list {
		dst = appendText(dst, s)
	}
	return dst
}

func boolByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// cacheEntries bounds the decisions in each of a cache's two generations, cacheKey the size of a
// key in bytes.
const (
	cacheEntries = 8 << 10
	cacheKey     = 1 << 10
)

// cache caches decisions in two generations. When the young one is full, it replaces the old one,
// and an entry found in the old one is moved to the young one. The zero value is empty. Safe for
// concurrent use. Reads of young entries take no lock.
type cache struct {
	young, old atomic.Pointer[generation]
	mu         sync.Mutex // serializes the replacement of generations
}

type generation struct {
	entries sync.Map // of Decision, by string
	size    atomic.Int64
}

func (c *cache) get(key []byte) (Decision, bool) {
	if len(key) > cacheKey {
		return Decision{}, false
	}
	for _, g := range [...]*generation{c.young.Load(), c.old.Load()} {
		if g == nil {
			continue
		}
		if v, ok := g.entries.Load(string(key)); ok {
			d := *v.(*Decision)
			if g != c.young.Load() {
				c.put(key, d)
			}
			return d, true
		}
	}
	return Decision{}, false
}

func (c *cache) put(key []byte, d Decision) {
	if len(key) > cacheKey {
		return
	}
	g := c.young.Load()
	if g == nil || g.size.Load() >= cacheEntries {
		c.mu.Lock()
		if g = c.young.Load(); g == nil || g.size.Load() >= cacheEntries {
			c.old.Store(g)
			g = new(generation)
			c.young.Store(g)
		}
		c.mu.Unlock()
	}
	if _, known := g.entries.Swap(string(key), &d); !known {
		g.size.Add(1)
	}
}
