package matrix

import (
	"slices"
	"testing"
)

// row is one line of the matrix: a method, or a flow that has no method of its own.
type row struct {
	group, name string
	// in has a mark per revision, oldest first: x, it has it; -, it lacks it.
	in string
	// only restricts where it exists further; nil: everywhere.
	only func(version, transport string) bool
	// works shows that it does what the revision says; lacks, that it does not exist: nil, the method is
	// unknown.
	works, lacks func(t *testing.T, c *cell)
}

// cell is where a row meets a revision and a transport.
type cell struct {
	*peer
	f         *fixture
	transport string
	row       *row
	// again connects another client, with other capabilities.
	again func(t *testing.T, capabilities string) *peer
	// known connects another client, over HTTP, with a key of somebody's.
	known func(t *testing.T, who string) *peer
}

func (r *row) exists(version, transport string) bool {
	return r.in[slices.Index(versions, version)] == 'x' && (r.only == nil || r.only(version, transport))
}

// run tests one cell.
func (r *row) run(t *testing.T, c *cell) {
	switch {
	case r.exists(c.version, c.transport):
		r.works(t, c)
	case r.lacks != nil:
		r.lacks(t, c)
	default:
		c.request(t, r.name, object{}).wantError(t, -32601)
	}
	c.settle(t)
}

const (
	clientRequests      = "Requests of clients"
	clientNotifications = "Notifications of clients"
	serverRequests      = "Requests to clients"
	tasks               = "Tasks"
	askingResults       = "Results that ask: input_required"
	serverNotifications = "Notifications of the edge"
)

// rows returns the matrix. The last rows end what the edge serves, in this order.
func rows() []row {
	return slices.Concat(requestRows(), contentRows(), errorRows(), clientNotificationRows(), askingRows(), taskRows(), notificationRows())
}

func requestRows() []row {
	return []row{
		{group: clientRequests, name: "initialize", in: "xxxx-", works: initialized},
		{group: clientRequests, name: "server/discover", in: "----x", works: discovered},
		{group: clientRequests, name: "ping", in: "xxxx-", works: pinged},
		{group: clientRequests, name: "tools/list", in: "xxxxx", works: toolsListed},
		{group: clientRequests, name: "tools/call", in: "xxxxx", works: toolsCalled},
		{group: clientRequests, name: "resources/list", in: "xxxxx", works: resourcesListed},
		{group: clientRequests, name: "resources/templates/list", in: "xxxxx", works: templatesListed},
		{group: clientRequests, name: "resources/read", in: "xxxxx", works: resourcesRead},
		{group: clientRequests, name: "resources/subscribe", in: "xxxx-", works: subscribed},
		{group: clientRequests, name: "resources/unsubscribe", in: "xxxx-", works: unsubscribed},
		{group: clientRequests, name: "prompts/list", in: "xxxxx", works: promptsListed},
		{group: clientRequests, name: "prompts/get", in: "xxxxx", works: promptsGot},
		{group: clientRequests, name: "completion/complete", in: "xxxxx", works: completed},
		{group: clientRequests, name: "logging/setLevel", in: "xxxx-", works: levelSet},
		{group: clientRequests, name: "subscriptions/listen", in: "----x", works: listened},
		{group: clientRequests, name: "batch of messages", in: "-x---", works: batchServed, lacks: batchRefused},
	}
}

func clientNotificationRows() []row {
	return []row{
		{group: clientNotifications, name: "notifications/initialized", in: "xxxx-", works: taken, lacks: taken},
		{group: clientNotifications, name: "notifications/cancelled", in: "xxxxx", works: cancelled, lacks: notCancelled,
			only: func(version, transport string) bool { return !stateless(version) || transport == "stdio" }},
		{group: clientNotifications, name: "… of a call that has ended", in: "xxxxx", works: cancelledLate},
		{group: clientNotifications, name: "notifications/progress", in: "xxxx-", works: taken, lacks: taken},
		{group: clientNotifications, name: "notifications/roots/list_changed", in: "xxxx-", works: taken, lacks: taken},
	}
}

func askingRows() []row {
	return []row{
		{group: serverRequests, name: "sampling/createMessage", in: "xxxx-", works: sampled, lacks: noRequest},
		{group: serverRequests, name: "… with tools", in: "---x-", works: sampledWithTools, lacks: incapable("ask_tools")},
		{group: serverRequests, name: "… with an image", in: "xxxx-", works: talked("talk_image"), lacks: incapable("talk_image")},
		{group: serverRequests, name: "… with audio", in: "-xxx-", works: talked("talk_audio"), lacks: incapable("talk_audio")},
		{group: serverRequests, name: "… with several blocks", in: "---x-", works: talked("talk_blocks"), lacks: incapable("talk_blocks")},
		{group: serverRequests, name: "… with tool blocks", in: "---x-", works: talked("talk_tools"), lacks: incapable("talk_tools")},
		{group: serverRequests, name: "roots/list", in: "xxxx-", works: rootsListed, lacks: noRequest},
		{group: serverRequests, name: "elicitation/create, form", in: "--xx-", works: elicited, lacks: incapable("ask_form")},
		{group: serverRequests, name: "… with several choices", in: "---x-", works: chosen, lacks: incapable("test_elicitation_sep1330_enums")},
		{group: serverRequests, name: "elicitation/create, URL", in: "---x-", works: urlOpened, lacks: incapable("ask_url")},
		{group: askingResults, name: "tools/call", in: "----x", works: toolRounds, lacks: noRounds},
		{group: askingResults, name: "prompts/get", in: "----x", works: promptRounds, lacks: noPromptRounds},
		{group: askingResults, name: "resources/read", in: "----x", works: readRounds, lacks: noReadRounds},
		{group: askingResults, name: "with sampling/createMessage, roots/list, elicitation/create", in: "----x", works: everythingAsked, lacks: noRounds},
		{group: askingResults, name: "with tools, several choices, URLs", in: "----x", works: richlyAsked, lacks: noRounds},
	}
}

func notificationRows() []row {
	return []row{
		{group: serverNotifications, name: "notifications/progress", in: "xxxxx", works: progressed},
		{group: serverNotifications, name: "… over several rounds", in: "xxxxx", works: progressedOverRounds},
		{group: serverNotifications, name: "notifications/message", in: "xxxxx", works: logged},
		{group: serverNotifications, name: "notifications/tools/list_changed", in: "xxxxx", works: changes("add_tool", "toolsListChanged")},
		{group: serverNotifications, name: "notifications/prompts/list_changed", in: "xxxxx", works: changes("add_prompt", "promptsListChanged")},
		{group: serverNotifications, name: "notifications/resources/list_changed", in: "xxxxx", works: changes("add_resource", "resourcesListChanged")},
		{group: serverNotifications, name: "notifications/resources/updated", in: "xxxxx", works: updated},
		{group: serverNotifications, name: "notifications/elicitation/complete", in: "---x-", works: elicitationCompleted, lacks: neverHeard},
		{group: serverNotifications, name: "notifications/subscriptions/acknowledged", in: "----x", works: acknowledged, lacks: neverHeard},
		{group: serverNotifications, name: "notifications/cancelled", in: "xxxxx", works: listenEnded, lacks: endedWithout,
			only: func(version, transport string) bool { return stateless(version) && transport == "stdio" }},
	}
}
