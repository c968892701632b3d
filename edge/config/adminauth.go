package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// AdminAuth configures the authentication of the admin address.
type AdminAuth struct {
	// Scope is required of the credentials; it may be empty without Config.Auth.
	Scope string `yaml:"scope"`
	// ApproveScope is the scope that approvers need, instead of Scope. Empty means
	// DefaultApproveScope.
	ApproveScope string `yaml:"approve-scope"`
	// ClientCert accepts a certificate of AdminTLS.ClientCA as if it had Scope, in addition to
	// other credentials.
	ClientCert bool `yaml:"client-cert"`
	// Open lists what needs no credentials: OpenProbes, OpenMetrics and OpenDev; nil means
	// OpenProbes.
	Open Names `yaml:"open"`
}

// DefaultApproveScope is the scope of those who decide on approvals.
const DefaultApproveScope = "mcp:approve"

// ScopeOfApprovers returns ApproveScope, or its default.
func (a *AdminAuth) ScopeOfApprovers() string { return cmp.Or(a.ApproveScope, DefaultApproveScope) }

// The values of AdminAuth.Open.
const (
	// OpenProbes are /healthz and /readyz.
	OpenProbes = "probes"
	// OpenMetrics is /metrics.
	OpenMetrics = "metrics"
	// OpenDev is /dev, the page of the setting dev, and POST /v1/traces beside it.
	OpenDev = "dev"
)

// Opens reports whether a part of the admin address needs no credentials.
func (c *Config) Opens(what string) bool {
	switch {
	case c.Admin.Auth == nil:
		return true
	case c.Admin.Auth.Open == nil:
		return what == OpenProbes
	}
	return slices.Contains(c.Admin.Auth.Open, what)
}

func (a *AdminAuth) validate(c *Config) (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Auth == nil && !a.ClientCert {
		wrong("admin.auth: there is no auth, so no caller has credentials: add auth, set client-cert, or take admin.auth out")
	}
	if why := mcp.NotScope(a.Scope); why != "" && (c.Auth != nil || a.Scope != "") {
		wrong("admin.auth.scope: %q %s", a.Scope, why)
	}
	if why := mcp.NotScope(a.ScopeOfApprovers()); why != "" {
		wrong("admin.auth.approve-scope: %q %s", a.ApproveScope, why)
	}
	if a.ScopeOfApprovers() == a.Scope {
		wrong("admin.auth.approve-scope: %q is the scope of operators, too: give approvers one of their own", a.Scope)
	}
	for _, what := range a.Open {
		if !slices.Contains([]string{OpenProbes, OpenMetrics, OpenDev}, what) {
			wrong("admin.auth.open: %q: use some of probes, metrics and dev", what)
		}
	}
	return errs
}
