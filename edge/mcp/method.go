package mcp

// Method is a JSON-RPC method name of the Model Context Protocol, any revision.
type Method string

// The methods that the edge receives or sends. The era knows which of them a revision has.
const (
	MethodInitialize       Method = "initialize"
	MethodPing             Method = "ping"
	MethodDiscover         Method = "server/discover"
	MethodListen           Method = "subscriptions/listen"
	MethodToolsList        Method = "tools/list"
	MethodToolsCall        Method = "tools/call"
	MethodResourcesList    Method = "resources/list"
	MethodTemplatesList    Method = "resources/templates/list"
	MethodResourcesRead    Method = "resources/read"
	MethodSubscribe        Method = "resources/subscribe"
	MethodUnsubscribe      Method = "resources/unsubscribe"
	MethodPromptsList      Method = "prompts/list"
	MethodPromptsGet       Method = "prompts/get"
	MethodComplete         Method = "completion/complete"
	MethodSkillsList       Method = "skills/list"
	MethodSkillsGet        Method = "skills/get"
	MethodDirectoryRead    Method = "resources/directory/read"
	MethodTasksGet         Method = "tasks/get"
	MethodTasksUpdate      Method = "tasks/update"
	MethodTasksCancel      Method = "tasks/cancel"
	MethodTasksResult      Method = "tasks/result"
	MethodTasksList        Method = "tasks/list"
	MethodSetLevel         Method = "logging/setLevel"
	MethodElicit           Method = "elicitation/create"
	MethodCreateMessage    Method = "sampling/createMessage"
	MethodListRoots        Method = "roots/list"
	NotifyInitialized      Method = "notifications/initialized"
	NotifyCancelled        Method = "notifications/cancelled"
	NotifyProgress         Method = "notifications/progress"
	NotifyMessage          Method = "notifications/message"
	NotifyRootsChanged     Method = "notifications/roots/list_changed"
	NotifyToolsChanged     Method = "notifications/tools/list_changed"
	NotifyResourcesChanged Method = "notifications/resources/list_changed"
	NotifyPromptsChanged   Method = "notifications/prompts/list_changed"
	NotifyResourceUpdated  Method = "notifications/resources/updated"
	NotifyElicitComplete   Method = "notifications/elicitation/complete"
	NotifyAcknowledged     Method = "notifications/subscriptions/acknowledged"
	NotifyTask             Method = "notifications/tasks"
	NotifyTaskStatus       Method = "notifications/tasks/status"
)

// target returns the member of the params that names the request's target. It is empty if there is
// none.
func (m Method) target() string {
	switch m {
	case MethodToolsCall, MethodPromptsGet:
		return "name"
	case MethodResourcesRead, MethodSubscribe, MethodUnsubscribe, MethodSkillsGet, MethodDirectoryRead:
		return "uri"
	case MethodTasksGet, MethodTasksUpdate, MethodTasksCancel, MethodTasksResult:
		return "taskId"
	}
	return ""
}

// Repeatable reports whether a request of this method may run again after its outcome was lost:
// reads, prompts, completions, lists, and requests about a task. A tool call is only repeatable by
// the tool's annotations.
func (m Method) Repeatable() bool {
	switch m {
	case MethodResourcesRead, MethodPromptsGet, MethodComplete,
		MethodToolsList, MethodResourcesList, MethodTemplatesList, MethodPromptsList,
		MethodSkillsList, MethodSkillsGet, MethodDirectoryRead,
		MethodTasksGet, MethodTasksUpdate, MethodTasksCancel, MethodTasksResult, MethodTasksList:
		return true
	}
	return false
}
