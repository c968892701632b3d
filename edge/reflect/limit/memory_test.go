package limit_test

import (
	"testing"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
)

// Who holds more than an equal part is refused when the memory is full; who holds less is not.
func TestSharesOfMemory(t *testing.T) {
	m := limit.NewMemory(100)
	greedy, modest := m.Join(), m.Join()
	large := greedy.Room()
	if err := large.Take(90); err != nil {
		t.Fatal(err)
	}
	if err := large.Take(20); err == nil {
		t.Error("more than there is")
	}
	small := modest.Room()
	if err := small.Take(50); err != nil {
		t.Errorf("an equal part beside a greedy one: %v", err)
	}
	if err := small.Take(1); err == nil {
		t.Error("more than an equal part of a full memory")
	}
	if kept, learning := m.Used(); kept != 0 || learning != 140 {
		t.Errorf("%d kept, %d learning", kept, learning)
	}
}

// A model takes the place of the one before it, also of one that takes all there is.
func TestModelsReplaceOneAnother(t *testing.T) {
	m := limit.NewMemory(100)
	s := m.Join()
	m.Join() // another backend, which has half
	var old *limit.Room
	for range 3 {
		r := s.Room()
		if err := r.Take(80); err != nil {
			t.Fatal(err)
		}
		if err := r.Keep(old); err != nil {
			t.Fatal(err)
		}
		old.Release()
		old.Release()
		old = r
	}
	if kept, learning := m.Used(); kept != 80 || learning != 0 {
		t.Errorf("%d kept, %d learning", kept, learning)
	}
	// While calls use the model before, what it holds counts.
	r := s.Room()
	_ = r.Take(60)
	if err := r.Keep(old); err != nil {
		t.Fatal(err)
	}
	next := s.Room()
	_ = next.Take(60)
	if err := next.Keep(r); err == nil {
		t.Error("a third model beside one that is in use")
	}
	next.Release()
	old.Release()
	if err := old.Take(1); err == nil {
		t.Error("a released room takes more")
	}
	if kept, learning := m.Used(); kept != 60 || learning != 0 {
		t.Errorf("%d kept, %d learning", kept, learning)
	}
}

// Without a bound nothing is refused.
func TestNoMemoryIsNoBound(t *testing.T) {
	s := limit.NewMemory(0).Join()
	defer s.Leave()
	r := s.Room()
	if err := r.Take(1 << 60); err != nil {
		t.Error(err)
	}
	if err := r.Keep(nil); err != nil {
		t.Error(err)
	}
	r.Release()
	if kept, learning := (*limit.Memory)(nil).Used(); kept+learning != 0 {
		t.Error("something is used")
	}
}
