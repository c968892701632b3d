package disabled

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/ownership"
)

// shelf is a Store in memory that several Registries share. It can be cut off, and can lose its
// records.
type shelf struct {
	mu     sync.Mutex
	values map[string]ownership.Value
	hear   []func()
	down   error
	deaf   bool // announcements are lost
	// ahead is how far its clock is ahead of that of the replicas; before is called before each Supersede.
	ahead  time.Duration
	before func()
}

func newShelf() *shelf { return &shelf{values: map[string]ownership.Value{}} }

func (s *shelf) Digests(context.Context) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for key, v := range s.values {
		out[key] = v.Digest
	}
	return out, s.down
}

func (s *shelf) Values(_ context.Context, keys []string) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string][]byte{}
	for _, key := range keys {
		if v, ok := s.values[key]; ok {
			out[key] = v.Bytes
		}
	}
	return out, s.down
}

func (s *shelf) Stamp(_ context.Context, key string, u Unstamped) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return 0, s.down
	}
	at := max(time.Now().Add(s.ahead).UnixMilli(), u.After+1)
	if was, err := strconv.ParseInt(s.values[key].Digest[:min(16, len(s.values[key].Digest))], 16, 64); err == nil {
		at = max(at, was+1)
	}
	s.values[key] = ownership.Value{Digest: fmt.Sprintf("%016x.%s", at, u.Sum), Bytes: fmt.Appendf(nil, "%s%d%s", u.Head, at, u.Tail)}
	if !s.deaf {
		for _, fn := range s.hear {
			fn()
		}
	}
	return at, nil
}

func (s *shelf) Supersede(_ context.Context, set map[string]ownership.Value, drop map[string]string) error {
	if s.before != nil {
		s.before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return s.down
	}
	for key, v := range set {
		if v.Digest > s.values[key].Digest {
			s.values[key] = v
		}
	}
	for key, digest := range drop {
		if s.values[key].Digest == digest {
			delete(s.values, key)
		}
	}
	return nil
}

func (s *shelf) OnAnnounced(fn func()) { s.hear = append(s.hear, fn) }

func (s *shelf) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = map[string]ownership.Value{}
}

// apart is a replica's connection to a shelf, which can be cut.
type apart struct {
	*shelf
	away bool
}

var errAway = errors.New("away")

func (a *apart) Digests(ctx context.Context) (map[string]string, error) {
	if a.away {
		return nil, errAway
	}
	return a.shelf.Digests(ctx)
}

func names(l *List) (out []string) {
	for _, e := range l.Entries() {
		out = append(out, string(e.Kind)+":"+e.Name)
	}
	return out
}

func quiet(s Store) *Registry {
	return New(Options{Store: s, Logger: slog.New(slog.DiscardHandler)})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func tool(name string) Entry {
	return Entry{ID: ID{Kind: Tool, Name: name, Backend: "b"}, Reason: "it leaks", Issuer: "i", Subject: "ada"}
}

// A disabled object has its reason, operator and time. It can be enabled once. A list without
// entries disables nothing.
func TestDisableAndEnable(t *testing.T) {
	for name, s := range map[string]Store{"in this process": nil, "in a store": newShelf()} {
		t.Run(name, func(t *testing.T) {
			r := quiet(s)
			var seen []*List
			r.OnChange(func(l *List) { seen = append(seen, l) })
			must(t, r.Load(t.Context()))
			if r.List() != nil {
				t.Fatal("something is disabled")
			}
			done, err := r.Disable(t.Context(), tool("x"))
			must(t, err)
			if time.Since(done.Since) > time.Minute || !slices.Equal(r.List().Entries(), []Entry{done}) || done.Reason != "it leaks" || done.Subject != "ada" {
				t.Errorf("%+v, %+v", done, r.List().Entries())
			}
			for _, c := range []struct{ is, want bool }{
				{r.List().HasTool("b", "x"), true}, {r.List().HasTool("c", "x"), false}, {r.List().HasBackend("b"), false}, {r.List().HasBackend("x"), false}, {r.List().HasSet("x"), false},
			} {
				if c.is != c.want {
					t.Errorf("%+v", c)
				}
			}
			again := tool("x")
			again.Reason = "it leaks more"
			again, err = r.Disable(t.Context(), again)
			must(t, err)
			if got := r.List().Entries(); len(got) != 1 || got[0] != again || !again.Since.After(done.Since) {
				t.Errorf("%+v", got)
			}
			must(t, r.Enable(t.Context(), again))
			if r.List() != nil || len(seen) != 2 || seen[1] != nil {
				t.Errorf("%v after %v", names(r.List()), seen)
			}
			if err := r.Enable(t.Context(), again); !errors.Is(err, ErrNotDisabled) {
				t.Errorf("enabled twice: %v", err)
			}
		})
	}
}

// Replicas apply a change at once after an announcement, and within a second without one. A replica
// that starts has it after Load.
func TestReplicasFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		a, b := quiet(s), quiet(s)
		go a.Run(t.Context())
		go b.Run(t.Context())
		synctest.Wait()
		_, err := a.Disable(t.Context(), tool("x"))
		must(t, err)
		synctest.Wait()
		if got := names(b.List()); !slices.Equal(got, []string{"tool:x"}) {
			t.Errorf("announced: %q", got)
		}
		s.deaf = true
		must(t, a.Enable(t.Context(), tool("x")))
		synctest.Wait()
		if b.List() == nil {
			t.Error("it heard what was not announced")
		}
		time.Sleep(readInterval)
		synctest.Wait()
		if b.List() != nil {
			t.Error("it did not read within a second")
		}
		_, err = b.Disable(t.Context(), Entry{ID: ID{Kind: Set, Name: "s"}})
		must(t, err)
		c := quiet(s)
		must(t, c.Load(t.Context()))
		if got := names(c.List()); !slices.Equal(got, []string{"set:s"}) {
			t.Errorf("at the start: %q", got)
		}
	})
}

// A Store that was emptied, or has lost its last writes, is restored from the replicas. An enabled
// object stays enabled, even if a replica was cut off meanwhile.
func TestLostWrites(t *testing.T) { synctest.Test(t, testLostWrites) }

func testLostWrites(t *testing.T) {
	s := newShelf()
	cut := &apart{shelf: s}
	a, b := quiet(s), quiet(cut)
	_, err := a.Disable(t.Context(), tool("x"))
	must(t, err)
	must(t, b.Load(t.Context()))
	before := maps.Clone(s.values)
	cut.away = true
	must(t, a.Enable(t.Context(), tool("x")))
	_, err = a.Disable(t.Context(), tool("y"))
	must(t, err)
	if err := b.Load(t.Context()); !errors.Is(err, errAway) || !slices.Equal(names(b.List()), []string{"tool:x"}) {
		t.Errorf("cut off: %v, %q", err, names(b.List()))
	}
	if _, err := b.Disable(t.Context(), tool("z")); !errors.Is(err, errAway) || !slices.Equal(names(b.List()), []string{"tool:x"}) {
		t.Errorf("disabled while it is cut off: %v, %q", err, names(b.List()))
	}
	cut.away = false
	for name, lose := range map[string]func(){"emptied": s.empty, "the last writes": func() { s.values = maps.Clone(before) }} {
		lose()
		must(t, b.Load(t.Context())) // b has fewer records, and restores first
		must(t, a.Load(t.Context()))
		must(t, b.Load(t.Context()))
		fresh := quiet(s)
		must(t, fresh.Load(t.Context()))
		for i, r := range []*Registry{a, b, fresh} {
			if got := names(r.List()); !slices.Equal(got, []string{"tool:y"}) {
				t.Errorf("%s: replica %d has %q", name, i, got)
			}
		}
	}
	// An act that is stored after the Store was emptied survives the restores of the replicas.
	s.empty()
	time.Sleep(time.Second) // the next act has a later time
	fresh := quiet(s)
	_, err = fresh.Disable(t.Context(), tool("x"))
	must(t, err)
	must(t, a.Load(t.Context()))
	must(t, fresh.Load(t.Context()))
	for i, r := range []*Registry{a, fresh} {
		if got := names(r.List()); !slices.Equal(got, []string{"tool:x", "tool:y"}) {
			t.Errorf("replica %d has %q", i, got)
		}
	}
}

// The numbers of disabled objects and of records of enabled ones are bounded.
func TestBounds(t *testing.T) {
	s := newShelf()
	r := quiet(s)
	for i := range 2 * maxKept {
		e := tool(fmt.Sprint(i))
		_, err := r.Disable(t.Context(), e)
		must(t, err)
		must(t, r.Enable(t.Context(), e))
	}
	must(t, r.Load(t.Context()))
	if len(r.known) != maxKept || len(s.values) != maxKept {
		t.Errorf("%d records are kept, %d in the store", len(r.known), len(s.values))
	}
	for i := range MaxEntries {
		_, err := r.Disable(t.Context(), tool(fmt.Sprint(i)))
		must(t, err)
	}
	if _, err := r.Disable(t.Context(), tool("more")); !errors.Is(err, ErrFull) {
		t.Errorf("one more: %v", err)
	}
	if _, err := r.Disable(t.Context(), tool("7")); err != nil {
		t.Errorf("one that is disabled: %v", err)
	}
}

// A value that another version has stored, or that is damaged, stays as it is.
func TestUnreadable(t *testing.T) {
	s, long := newShelf(), strings.Repeat("x", MaxName+1)
	for key, text := range map[string]string{
		ID{Kind: "planet", Name: "mars"}.key(): `{"kind":"planet","name":"mars","at":1}`, "x": `{`, ID{Kind: Set, Name: "a"}.key(): `{"kind":"set","name":"b","at":1}`,
		ID{Kind: Set, Name: "late"}.key(): `{"kind":"set","name":"late","at":9223372036854775807}`, ID{Kind: Set, Name: "c"}.key(): `{"kind":"set","name":"c","at":2}`,
		ID{Kind: Set, Name: long}.key(): `{"kind":"set","name":"` + long + `","at":1}`,
	} {
		s.values[key] = ownership.Value{Digest: timePrefix(1) + "d", Bytes: []byte(text)}
	}
	before := maps.Clone(s.values)
	var log strings.Builder
	r := New(Options{Store: s, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, r.Load(t.Context()))
	if r.List() != nil || !maps.EqualFunc(s.values, before, func(a, b ownership.Value) bool { return string(a.Bytes) == string(b.Bytes) }) {
		t.Errorf("%v, %v", r.List(), s.values)
	}
	_, err := r.Disable(t.Context(), Entry{ID: ID{Kind: Set, Name: "late"}})
	must(t, err)
	must(t, r.Enable(t.Context(), Entry{ID: ID{Kind: Set, Name: "late"}}))
	_, err = r.Disable(t.Context(), tool("x"))
	must(t, err)
	must(t, r.Enable(t.Context(), tool("x")))
	for _, want := range []string{"an operator has disabled a tool", "a tool that an operator had disabled is enabled again\" tool=x operator=ada issuer=i", "reason=\"it leaks\""} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("the log lacks %q:\n%s", want, &log)
		}
	}
}

// Age counts from the last successful read of the Store, or from New before the first. Failed reads
// do not reset it. Without a Store it is 0.
func TestAge(t *testing.T) { synctest.Test(t, testAge) }

func testAge(t *testing.T) {
	s := &apart{shelf: newShelf(), away: true}
	r, alone := quiet(s), quiet(nil)
	want := func(age time.Duration) {
		t.Helper()
		if got := r.Age(); got != age {
			t.Errorf("the age is %v, want %v", got, age)
		}
	}
	want(0)
	time.Sleep(3 * time.Second)
	if err := r.Load(t.Context()); !errors.Is(err, errAway) {
		t.Fatal(err)
	}
	want(3 * time.Second)
	s.away = false
	must(t, r.Load(t.Context()))
	want(0)
	s.away = true
	time.Sleep(time.Second)
	r.exchangeLogged(t.Context())
	time.Sleep(time.Second)
	want(2 * time.Second)
	if got := alone.Age(); got != 0 {
		t.Errorf("without a Store the age is %v", got)
	}
}

// Acts are ordered by the Store's clock, which sets the times of the entries.
func TestClockOfTheStore(t *testing.T) {
	s := newShelf()
	s.ahead = time.Hour
	a, b := quiet(s), quiet(s)
	done, err := a.Disable(t.Context(), tool("x"))
	must(t, err)
	if ahead := time.Until(done.Since); ahead < 50*time.Minute {
		t.Errorf("it is disabled since %v", done.Since)
	}
	s.ahead = -time.Hour // another server took over
	must(t, b.Enable(t.Context(), tool("x")))
	must(t, a.Load(t.Context()))
	if a.List() != nil || b.List() != nil {
		t.Errorf("%q, %q", names(a.List()), names(b.List()))
	}
}

// A replica that restores a Store does not overwrite a value that another replica has stored since
// the restoring one read it.
func TestRestoreIsNotLater(t *testing.T) {
	s := newShelf()
	a, b := quiet(s), quiet(s)
	_, err := a.Disable(t.Context(), tool("x"))
	must(t, err)
	must(t, b.Load(t.Context()))
	s.empty()
	s.before = func() {
		s.before = nil
		must(t, b.Load(t.Context()))
		must(t, b.Enable(t.Context(), tool("x")))
	}
	must(t, a.Load(t.Context()))
	fresh := quiet(s)
	for i, r := range []*Registry{fresh, a} {
		must(t, r.Load(t.Context()))
		if r.List() != nil {
			t.Errorf("replica %d has %q", i, names(r.List()))
		}
	}
}
