package mcp

// Trial is what a setting in audit mode would have done with a request. It changes nothing else than the audit and a metric.
type Trial struct {
	// Effect is what would have happened: deny, hide or confirm, for example.
	Effect string
	// By is the component that would have done it, named as in records of the audit.
	By string
	// Rule is the name of the setting, such as that of a rule.
	Rule string
}
