// Package engine runs a Docker engine for tests that need a real one, on Linux as root, without
// access to a registry.
//
// Main starts the test program a second time in its own namespaces of processes, mounts and the
// network. Inside, Start runs dockerd. Its bridges, iptables rules, mounts and containers exist in
// these namespaces only, and end with their first process. The outer program removes the directory
// with the images and the control groups. From inside, only files of the machine are reachable.
//
// Base images are substitutes built from programs of this machine: Golang, Distroless, Redis and
// HAProxy. They show how our images behave on an engine, not that they work with the published base
// images.
package engine
