// Package redis keeps the durable state of any number of replicas in Redis 6.2 or newer: a single
// server, one behind Sentinel, or a Cluster, as the client that it is given decides.
//
// Every change of a session is one Lua script, run in the one Cluster slot where all keys of the session
// are. Only Redis's clock judges leases and expiry. What lies in other slots (the index of unfinished
// streams, the sessions of each principal, the heartbeats) is written in an order that may leave a stale
// entry, never a missing one, and stale entries are found and removed. docs/state.md lists the keys.
//
// The edge never deletes what it does not know: keys begin with Options.Prefix.
package redis
