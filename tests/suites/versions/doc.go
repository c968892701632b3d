// Package versions runs two versions of the edge and of a backend together, the latest released one and this one: replicas of both on
// one Redis, edges in front of backends of the other version, and replicas rolled from each version to the other, under clients of both
// eras. `make test-versions` runs it (build tag versions), and prints the calls that were made and those that were lost.
package versions
