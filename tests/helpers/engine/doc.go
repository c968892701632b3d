// Package engine runs a Docker engine for tests that need a real one, on a Linux machine and as root, with nothing to pull from.
//
// Main starts the test program a second time, in namespaces of its own: processes, mounts and the network. In there Start runs
// dockerd. Its bridges, its rules of iptables, its mounts and its containers exist in these namespaces only and end with their first
// process, however that ends; the folder with its images and the control groups are removed by the program that Main began in.
// Nothing outside can be reached from in there but files.
//
// Base images are stand-ins, made from the programs of this machine: Golang, Distroless, Redis and HAProxy. They show what an image
// of ours does on an engine, not that the published base images suit it.
package engine
