package jsonrpc

// methodName returns string(b), without allocating if b is a method of any revision of MCP.
func methodName(b []byte) string {
	switch string(b) {
	case "completion/complete":
		return "completion/complete"
	case "elicitation/create":
		return "elicitation/create"
	case "initialize":
		return "initialize"
	case "logging/setLevel":
		return "logging/setLevel"
	case "notifications/cancelled":
		return "notifications/cancelled"
	case "notifications/initialized":
		return "notifications/initialized"
	case "notifications/message":
		return "notifications/message"
	case "notifications/progress":
		return "notifications/progress"
	case "notifications/roots/list_changed":
		return "notifications/roots/list_changed"
	case "ping":
		return "ping"
	case "prompts/get":
		return "prompts/get"
	case "prompts/list":
		return "prompts/list"
	case "resources/list":
		return "resources/list"
	case "resources/read":
		return "resources/read"
	case "resources/subscribe":
		return "resources/subscribe"
	case "resources/templates/list":
		return "resources/templates/list"
	case "resources/unsubscribe":
		return "resources/unsubscribe"
	case "roots/list":
		return "roots/list"
	case "sampling/createMessage":
		return "sampling/createMessage"
	case "server/discover":
		return "server/discover"
	case "subscriptions/listen":
		return "subscriptions/listen"
	case "tasks/cancel":
		return "tasks/cancel"
	case "tasks/get":
		return "tasks/get"
	case "tasks/list":
		return "tasks/list"
	case "tasks/result":
		return "tasks/result"
	case "tasks/update":
		return "tasks/update"
	case "tools/call":
		return "tools/call"
	case "tools/list":
		return "tools/list"
	}
	return string(b)
}
