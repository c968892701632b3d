package mcp

// Trial is what a setting in audit mode would have done with a request. It affects only the audit
// and a metric.
type Trial struct {
	// Effect is the effect that the setting would have had, such as deny, hide or confirm.
	Effect string
	// By is the component that would have done it, named as in records of the audit.
	By string
	// Rule is the name of the setting, such as that of a rule.
	Rule string
}
