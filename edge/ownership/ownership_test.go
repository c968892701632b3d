package ownership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// shared is a Store in memory. down makes it fail.
type shared struct {
	mu     sync.Mutex
	values map[string]Value
	writes int
	down   error
}

func (s *shared) Digests(context.Context) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for name, v := range s.values {
		out[name] = v.Digest
	}
	return out, s.down
}

func (s *shared) Values(_ context.Context, names []string) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string][]byte{}
	for _, name := range names {
		if v, ok := s.values[name]; ok {
			out[name] = v.Bytes
		}
	}
	return out, s.down
}

func (s *shared) Write(_ context.Context, set map[string]Value, drop []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.values == nil {
		s.values = map[string]Value{}
	}
	maps.Copy(s.values, set)
	for _, name := range drop {
		delete(s.values, name)
	}
	return s.down
}

// replica is a Registry whose backends the test sets.
func replica(s Store) *Registry {
	return New(Options{Store: s, Logger: slog.New(slog.DiscardHandler)})
}

// there returns a reachable backend that lists tools, away an unreachable one.
func there(name string, tools ...string) Holder {
	return Holder{Name: name, Configured: true, Names: &Names{Tools: tools}}
}
func away(name string) Holder { return Holder{Name: name, Configured: true} }

// update sets backends and exchanges with the Store repeatedly. It returns the names in the order
// in effect.
func update(t *testing.T, r *Registry, holders ...Holder) (order []string) {
	t.Helper()
	for range 2 {
		order = order[:0]
		for _, i := range r.Update(holders) {
			order = append(order, holders[i].Name)
		}
		if err := r.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for n, i := range r.Update(holders) {
		order[n] = holders[i].Name
	}
	return order
}

func kept(r *Registry, name string) string {
	n := r.Kept(name)
	if n == nil {
		return ""
	}
	return strings.Join(n.Tools, " ")
}

// A replica that never reached a backend knows its names, and those that some callers see. They are
// removed with the backend.
func TestNamesAreShared(t *testing.T) {
	store := &shared{}
	knew := replica(store)
	update(t, knew, there("a", "x", "y"), there("b", "x"), Holder{Name: "team/c", Names: &Names{Tools: []string{"z"}}})
	knew.Own("a", &Names{Tools: []string{"hers"}})
	update(t, knew, there("a", "x", "y"), there("b", "x"))
	if _, found := store.values["team/c"]; found {
		t.Error("the names of a backend that was discovered are shared")
	}
	late := replica(store)
	update(t, late, away("a"), there("b", "x"))
	if got := kept(late, "a"); got != "hers x y" {
		t.Errorf("kept %q", got)
	}
	if once, again := late.Kept("a"), late.Kept("a"); once != again {
		t.Error("the names are others, though nothing changed")
	}
	update(t, late, there("b", "x"))
	if _, found := store.values["a"]; found || late.Kept("a") != nil {
		t.Error("the names of a backend stay that was taken out")
	}
}

// A replica that reaches a backend is authoritative for it. A Store that lost its data gets it
// again.
func TestNamesFollowThoseWhoKnow(t *testing.T) {
	store := &shared{}
	reaches, not := replica(store), replica(store)
	update(t, reaches, there("a", "x"))
	update(t, not, there("a", "x"))
	update(t, not, away("a"))
	update(t, reaches, there("a", "x", "new"))
	update(t, not, away("a"))
	if got := kept(not, "a"); got != "x new" {
		t.Errorf("kept %q", got)
	}
	store.values = nil
	update(t, not, away("a"))
	if late := replica(store); update(t, late, away("a")) == nil || kept(late, "a") != "x new" {
		t.Errorf("after the Store was lost: %q", kept(late, "a"))
	}
	writes := store.writes
	for range 5 {
		update(t, reaches, there("a", "x", "new"))
		update(t, not, away("a"))
	}
	if store.writes != writes {
		t.Errorf("%d writes though nothing changed", store.writes-writes)
	}
}

// A changed order takes effect when the backends whose place changes are reachable, are removed, or
// own nothing.
func TestOrder(t *testing.T) {
	store := &shared{}
	if got := update(t, replica(store), there("a", "x"), there("b", "x"), there("c")); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Fatalf("got %v", got)
	}
	for name, c := range map[string]struct {
		holders []Holder
		want    []string
	}{
		"away, in its place":        {[]Holder{away("a"), there("c"), there("b", "x")}, []string{"a", "c", "b"}},
		"away, in another":          {[]Holder{there("b", "x"), away("a")}, []string{"a", "b"}},
		"away, in another, one new": {[]Holder{there("new"), there("b", "x"), there("newer"), away("a")}, []string{"new", "a", "b", "newer"}},
		"it owns nothing":           {[]Holder{away("c"), there("b", "x"), there("a", "x")}, []string{"c", "b", "a"}},
	} {
		if got := update(t, replica(&shared{values: maps.Clone(store.values)}), c.holders...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	r := replica(store)
	update(t, r, there("b", "x"), away("a"))
	if got := update(t, r, there("b", "x"), there("a", "x")); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("back: %v", got)
	}
	if got := update(t, replica(store), away("b"), away("a")); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("after the new order took effect: %v", got)
	}
	found := []Holder{{Name: "z/z", Names: &Names{}}, there("b", "x"), there("a", "x")}
	if got := update(t, r, found...); !slices.Equal(got, []string{"b", "a", "z/z"}) {
		t.Errorf("one that was discovered: %v", got)
	}
}

// The names stored per backend are limited, tools first. One warning reports that names are
// missing.
func TestNamesAreBounded(t *testing.T) {
	var log strings.Builder
	r := New(Options{Bytes: 1000, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	many := &Names{}
	for i := range 1000 {
		many.Tools = append(many.Tools, fmt.Sprintf("tool-%04d", i))
		many.Resources = append(many.Resources, fmt.Sprintf("doc://%04d", i))
	}
	for i := range 3 {
		r.Update([]Holder{{Name: "a", Configured: true, Names: many}})
		r.Own("a", &Names{Prompts: []string{fmt.Sprint("own ", i)}})
		if n := r.Kept("a"); n.size() > 1000 || len(n.Tools) == 0 || len(n.Resources) > 0 {
			t.Errorf("kept %d bytes, %d tools and %d resources", n.size(), len(n.Tools), len(n.Resources))
		}
	}
	if n := strings.Count(log.String(), "more names than are stored"); n != 1 {
		t.Errorf("reported %d times", n)
	}
	for i := range 100 {
		r.Own("a", &Names{Tools: []string{fmt.Sprintf("%030d", i)}})
	}
	if e := r.entries["a"]; e.own.size() > 1000 {
		t.Errorf("%d bytes of names of callers", e.own.size())
	}
}

// If the Store is unreachable, Load fails, and the known names stay.
func TestStoreAway(t *testing.T) {
	store := &shared{down: errors.New("down")}
	r := replica(store)
	r.Update([]Holder{there("a", "x")})
	if err := r.Load(t.Context()); !errors.Is(err, store.down) {
		t.Errorf("got %v", err)
	}
	r.Update([]Holder{away("a")})
	if got := kept(r, "a"); got != "x" {
		t.Errorf("kept %q", got)
	}
}

// Lookups of prefixes agree with a linear search.
func TestPrefixes(t *testing.T) {
	draw := func() string {
		b := make([]byte, rand.IntN(6))
		for i := range b {
			b[i] = "ab/"[rand.IntN(3)]
		}
		return string(b)
	}
	for range 2000 {
		var p Prefixes
		texts := map[string][]int{}
		for range rand.IntN(8) {
			text, holder := draw(), rand.IntN(5)
			if p.Add(text, holder); text != "" {
				texts[text] = append(texts[text], holder)
			}
		}
		p.Build()
		s := draw() + draw()
		longest, first := "", 5
		var allowed []int
		if rand.IntN(2) == 0 {
			allowed = []int{rand.IntN(5), rand.IntN(5)}
		}
		for text, holders := range texts {
			if !strings.HasPrefix(s, text) {
				continue
			}
			if len(text) > len(longest) {
				longest = text
			}
			for _, h := range holders {
				if Allows(allowed, h) {
					first = min(first, h)
				}
			}
		}
		want := slices.Compact(slices.Sorted(slices.Values(texts[longest])))
		if got := p.Longest(s); !slices.Equal(got, want) {
			t.Fatalf("%v: the longest of %q is of %v, want %v", texts, s, got, want)
		}
		if got := p.First(s, 5, allowed); got != first {
			t.Fatalf("%v: the first of %q in %v is %d, want %d", texts, s, allowed, got, first)
		}
	}
}
