package mcp

// kindNames are the names in logs and span attributes. They are stable.
var kindNames = [...]string{
	KindNone: "ok", KindParse: "parse_error", KindInvalidRequest: "invalid_request",
	KindMethodNotFound: "method_not_found", KindInvalidParams: "invalid_params",
	KindUnknownTool: "unknown_tool", KindUnknownPrompt: "unknown_prompt",
	KindResourceNotFound: "resource_not_found", KindBadCursor: "bad_cursor", KindBadState: "bad_state",
	KindHeaderMismatch: "header_mismatch", KindMissingCapability: "missing_capability",
	KindUnsupportedVersion: "unsupported_version", KindSessionRequired: "session_required",
	KindSessionNotFound: "session_not_found", KindBadEventID: "bad_event_id", KindForbidden: "forbidden",
	KindUnauthenticated: "unauthenticated", KindTooLarge: "too_large", KindLimit: "limit",
	KindQuota: "quota", KindStateUnavailable: "state_unavailable", KindOverloaded: "overloaded", KindUnavailable: "unavailable",
	KindTimeout: "timeout", KindCancelled: "cancelled", KindUnknownOutcome: "unknown_outcome",
	KindContract: "contract", KindNoStream: "no_stream", KindInternal: "internal",
}

// String returns the kind's name, in lower case with underscores; "ok" for KindNone.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "internal"
}

// KindNamed returns the kind with a name from String, or KindInternal.
func KindNamed(name string) Kind {
	for k, n := range kindNames {
		if n == name && n != "" {
			return Kind(k) // #nosec G115 -- there are few
		}
	}
	return KindInternal
}
