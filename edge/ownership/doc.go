// Package ownership says whose a name or a URI is, also while its backend is away.
//
// A backend owns what the platform grants it in the configuration, a prefix of names and prefixes of URIs, and beyond
// that what it lists, the first in the order of the backends before the others. What a backend listed last stays its own
// while it is away: a Registry remembers that, and shares it with other replicas through a Store, so that a replica which
// has never reached a backend answers as those that have. So does the order: one that was changed in the configuration
// takes effect once every backend whose place it changes is there.
package ownership
