// Package catalog is what is served to whom. It merges what the backends list into one view (names, URIs, templates, capabilities), answers
// lists from it, a page at a time and as the caller may see them, and looks up what a request names, once for a round: Resolve makes a Target,
// and no other package does lookups. Package changes notifies subscribers of changes of the view.
//
// The view is immutable and swapped as a whole when a backend's catalog changes, so that finding a
// tool costs one atomic load and one map access. Where the backends' lists depend on the caller there
// is one view per caller, in a bounded cache.
package catalog
