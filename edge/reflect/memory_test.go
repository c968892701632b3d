package reflect

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// changing is an adapter of a service that has another method at each learning, and a message of some fields. reads counts the learnings.
func changing(t *testing.T, memory *Memory, fields int) (a *Adapter, reads *int) {
	t.Helper()
	reads = new(int)
	a = New(nil, nil, Options{Memory: memory, Logger: slog.New(slog.DiscardHandler), DescriptorSet: func() ([]byte, error) {
		*reads++
		fd := file("a.proto", 1, message("M0", make([]string, fields)...))
		fd.Service[0].Method[0].Name = proto.String(fmt.Sprintf("Do%d", *reads))
		return proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{fd}})
	}})
	t.Cleanup(a.Close)
	return a, reads
}

// A model is released when another one has taken its place and no call uses it, and all of them with the adapter.
func TestModelsAreReleased(t *testing.T) {
	memory := NewMemory(1 << 30)
	a, _ := changing(t, memory, 100)
	held := func() int64 {
		kept, learning := memory.Used()
		if learning != 0 {
			t.Errorf("%d bytes are held by no learning", learning)
		}
		return kept
	}
	load := func() {
		t.Helper()
		if err := a.load(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	load()
	one := held()
	if one == 0 {
		t.Fatal("a model holds nothing")
	}
	for range 5 {
		load()
	}
	if n := held(); n != one {
		t.Errorf("%d bytes are held after five changes, %d by one model", n, one)
	}
	_, first := a.use()
	_, second := a.use()
	load()
	first()
	if n := held(); n != 2*one {
		t.Errorf("%d bytes are held while a call uses the model before, want %d", n, 2*one)
	}
	second()
	if n := held(); n != one {
		t.Errorf("%d bytes are held when the call has ended, want %d", n, one)
	}
	a.Close()
	if n := held(); n != 0 {
		t.Errorf("%d bytes are held by a closed adapter", n)
	}
}

// A service that does not fit into the memory is not learned, which says so; what was learned before stays.
func TestServicesBeyondTheMemory(t *testing.T) {
	memory := NewMemory(1)
	large, _ := changing(t, memory, 10)
	if err := large.load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	before, done := large.use()
	done()
	fields := 10 + leastMemory/800
	large.opts.DescriptorSet = func() ([]byte, error) {
		return proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file("a.proto", 1, message("M0", make([]string, fields)...))}})
	}
	err := large.load(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "raise server.memory") {
		t.Errorf("%v", err)
	}
	if now, done := large.use(); now != before {
		t.Error("the model before is gone")
	} else {
		done()
	}
	if kept, learning := memory.Used(); learning != 0 || kept == 0 {
		t.Errorf("%d bytes are kept, %d are held by no learning", kept, learning)
	}
	small, _ := changing(t, memory, 10) // has its part beside it
	if err := small.load(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// A service that comes back before it may be learned again is served as it was, and learned later.
func TestServedAsItWasUntilItMayBeLearned(t *testing.T) {
	a, reads := changing(t, nil, 1)
	if err := a.learned(t.Context()); err != nil || *reads != 1 {
		t.Fatal(err, *reads)
	}
	a.pace.next = time.Now().Add(time.Hour)
	if err := a.learned(t.Context()); err != nil || *reads != 1 {
		t.Fatal(err, *reads)
	}
	if !a.due {
		t.Error("it will not be learned")
	}
	never, reads := changing(t, nil, 1)
	never.pace.failed(time.Now(), time.Now().Add(time.Hour), errors.New("too much of it"))
	if err := never.learned(t.Context()); err == nil || !strings.Contains(err.Error(), "too much of it (tried again in ") || *reads != 0 {
		t.Errorf("%v after %d learnings", err, *reads)
	}
}
