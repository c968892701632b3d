package mcp

import (
	"errors"
	"testing"
)

// Every kind has its own name, by which operators distinguish failures.
func TestKindNames(t *testing.T) {
	seen := map[string]Kind{}
	for k := KindNone; k <= KindInternal; k++ {
		if int(k) >= len(kindNames) || kindNames[k] == "" {
			t.Errorf("kind %d has no name", k)
		}
		if other, dup := seen[k.String()]; dup {
			t.Errorf("kinds %d and %d are both %q", other, k, k)
		}
		seen[k.String()] = k
	}
	if got := Kind(255).String(); got != "internal" {
		t.Errorf("an unknown kind is %q", got)
	}
}

// Clients see the message alone; operators see the cause of a fault, but never that of a caller's
// error.
func TestOnlyFaultsHaveCauses(t *testing.T) {
	cause := errors.New("rpc error: disk is full")
	for k := KindNone; k <= KindInternal; k++ {
		e := &Error{Kind: k, Message: "m", Err: cause}
		if got := e.Cause(); (got == cause) != k.Fault() || !k.Fault() && got != nil {
			t.Errorf("the cause of %s is %v", k, got)
		}
	}
	for k, want := range map[Kind]bool{
		KindInternal: true, KindContract: true, KindUnavailable: true, KindStateUnavailable: true, KindTimeout: true,
		KindUnknownOutcome: true, KindNone: false, KindInvalidParams: false, KindUnknownTool: false, KindForbidden: false,
		KindLimit: false, KindQuota: false, KindCancelled: false,
	} {
		if k.Fault() != want {
			t.Errorf("%s is a fault: %t", k, !want)
		}
	}
}
