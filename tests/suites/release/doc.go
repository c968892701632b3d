// Package release holds what of this module is given out, and the versions of it, against what users do with them.
//
// TestVersion builds the edge in the ways that people do and compares the output of `mcpedge version`; TestInstalledVersion (build tag
// installed) does so for `go install`, and the suite images for the images.
//
// TestRelease (build tag release, `make release`) installs what a release has made, each artefact as a user would and where this machine
// can, starts the edge and calls it, and prints what came of each artefact.
//
// TestVersions (build tag versions) runs two versions of the edge and of a backend together, the latest released one and this one:
// replicas of both on one Redis, edges in front of backends of the other version, and replicas rolled from each version to the other, under
// clients of both eras. It prints the calls that were made and those that were lost.
package release
