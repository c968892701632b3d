// Package external asks a policy server to authorize requests, by Envoy's external authorization
// protocol, envoy.service.auth.v3.Authorization/Check. The request has the metadata of Envoy's MCP
// filter, in [Namespace]: method, id and params.
package external
