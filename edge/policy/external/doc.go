// Package external asks a policy server whether a request may be made, by Envoy's protocol of external authorization,
// envoy.service.auth.v3.Authorization/Check. The server is told what Envoy's MCP filter finds in a request: its method, id
// and params, in the metadata of [Namespace].
package external
