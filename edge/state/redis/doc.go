// Package redis keeps the durable state of any number of replicas in Redis 6.2 or newer: a single
// server, one behind Sentinel, or a Cluster, as the client that it is given decides.
//
// Every change of a session is one Lua script, which runs in the Cluster slot of all keys of the
// session. Only Redis's clock decides when leases and sessions expire. What is in other slots (the
// index of unfinished streams, the sessions of each principal, the heartbeats) is written in an
// order that may leave a stale entry, never a missing one; stale entries are found and removed.
// docs/state.md lists the keys.
//
// The edge never deletes foreign keys: its keys begin with Options.Prefix.
package redis
