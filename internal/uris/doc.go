// Package uris parses and compares URIs (RFC 3986) and URI templates (RFC 6570), for the edge, its
// policy and the capability library.
//
// A URI has many spellings. [Normal] returns the spelling that equivalent URIs share. [Forms]
// returns the other spellings under which a backend may serve the same resource, so that a policy
// can evaluate its rules for each of them. A [Template] is matched against the normal form, so that
// every spelling of a URI matches with the same variables.
//
// Time and memory are linear in the size of the input; the number of a Template's variables is
// limited. All functions and values are safe for concurrent use.
package uris
