package await

import (
	"context"
	"errors"
	"testing"
)

func TestDeadline(t *testing.T) {
	ctx, pass := Deadline(t.Context())
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	if _, ok := child.Deadline(); !ok || child.Err() != nil {
		t.Fatalf("it has a deadline: %t; %v", ok, child.Err())
	}
	pass()
	pass()
	Receive(t, "the end of a context within", child.Done())
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) || !errors.Is(child.Err(), context.DeadlineExceeded) {
		t.Errorf("%v, and within %v", ctx.Err(), child.Err())
	}
}
