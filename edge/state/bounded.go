package state

import (
	"context"
	"time"
)

// Timeout bounds one operation on a medium.
const Timeout = 2 * time.Second

// Bounded returns a context for one operation on a medium, which the end of ctx does not cancel: a
// client that leaves does not interrupt it.
func Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), Timeout)
}
