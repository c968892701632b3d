// Package backend keeps the edge connected to the gRPC services behind it.
//
// A Pool holds one Backend per configured target. Each Backend dials its target, learns what it
// serves, keeps an immutable Catalog of its lists, and swaps the catalog when the backend reports a
// change, comes back, or answers differently at a refresh. Beside the catalog it offers the typed
// clients, a bound on concurrent calls, and watches of single resources that are shared among those
// who watch the same one.
//
// What a Backend does by itself:
//   - it dials for ever, with jittered backoff; a target that is down at the start is no error;
//   - it opens the change feeds before it lists, so that no change falls between;
//   - it keeps the last lists of a backend that is gone until Config.StaleAfter has passed;
//   - it leaves entries that break the contract out of the catalog and reports them.
//
// Deadlines, metadata and the translation of statuses on calls are the caller's.
package backend
