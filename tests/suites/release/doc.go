// Package release installs what `make release` has made, each artefact as a user would and where this machine can, starts the edge and
// calls it. `make release` runs it (build tag release) and prints what came of each artefact.
package release
