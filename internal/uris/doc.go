// Package uris knows URIs (RFC 3986) and URI templates (RFC 6570), for the edge, its policy and the capability library.
//
// A URI has many spellings. [Normal] gives the one that two URIs share if a backend takes them for the same; [Forms] gives
// all others under which a backend may serve what a URI names, so that a policy can hold its rules against each. A [Template]
// is matched against the normal form, so that every spelling of a URI matches, with the same variables.
//
// Everything takes time and memory in proportion to the bytes of its input; a Template's variables are bounded when it is
// parsed. All functions and values are safe for concurrent use.
package uris
