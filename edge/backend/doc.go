// Package backend keeps the edge connected to the gRPC services behind it.
//
// A Pool holds one Backend per configured target. Each Backend dials its target, reads what it
// serves, keeps an immutable Catalog of its lists, and swaps the catalog when the backend reports a
// change, reconnects, or answers differently at a refresh. Beside the catalog it offers the typed
// clients, a bound on concurrent calls, and watches of single resources; equal watches share a
// stream.
//
// A Backend does the following by itself:
//   - it dials without end, with jittered backoff; a target that is down at the start is no error;
//   - it opens the change feeds before it lists, so that no change is missed in between;
//   - it keeps the last lists of an unreachable backend for Config.StaleAfter;
//   - it leaves entries that break the contract out of the catalog and reports them.
//
// The caller provides deadlines and metadata of calls, and translates their statuses.
package backend
