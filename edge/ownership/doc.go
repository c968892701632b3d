// Package ownership determines which backend owns a name or a URI, also while a backend is
// unreachable.
//
// A backend owns the names and URIs whose prefixes the configuration grants it. Beyond that it owns
// what it lists; if several backends list the same, the first in the order of the configuration
// wins. A backend keeps the names that it listed last while it is unreachable: a Registry stores
// them, and shares them with other replicas through a Store, so that a replica that never reached
// the backend answers as the others do. The order is shared in the same way. A changed order takes
// effect when every backend whose place changes is reachable.
package ownership
