//go:build !race

// Under the race detector these take ten times as long, and with fewer secrets and clients it sees the same goroutines meet.

package e2e

import "testing"

// TestRedactSecretsMany is TestRedactSecrets with 10,000 secrets.
func TestRedactSecretsMany(t *testing.T) { redactSecrets(t, 100) }

// TestRedactTakeoverMany is TestRedactTakeover with 100 calls and tasks, and 10,000 secrets.
func TestRedactTakeoverMany(t *testing.T) { redactTakeover(t, 100) }

// TestDeafStatelessMany is TestDeafStateless with 40 clients.
func TestDeafStatelessMany(t *testing.T) { deafStateless(t, 40) }

// TestDeafSessionsMany is TestDeafSessions with 40 clients.
func TestDeafSessionsMany(t *testing.T) { deafSessions(t, 40) }
