package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// addTool makes the list of tools change.
func (f *fixture) addTool(name string) {
	capability.AddTool(f.Server, name, "Comes late",
		func(context.Context, *capability.Call, struct{}) (string, error) { return name, nil })
}

// awaitTool waits until every replica lists a tool: each hears of a change by itself.
func awaitTool(t *testing.T, s *session, name string) {
	t.Helper()
	await.Until(t, "the tool "+name+" is listed", func() bool {
		for range replicaCount {
			if !slices.Contains(names(s.request("tools/list", "").result()["tools"], "name"), name) {
				return false
			}
		}
		return true
	})
}

// TestStandaloneStream: changes reach the session's GET stream: of lists always, of resources when
// subscribed to.
func TestStandaloneStream(t *testing.T) {
	t.Parallel() // it waits for most of its time
	f, e := startFixture(t)
	for _, version := range stateful {
		t.Run(version, func(t *testing.T) {
			s := newSession(t, e.URL, version)
			stream := s.get("").want(http.StatusOK).events()
			f.addTool("late_" + version)
			stream.awaitMethod("notifications/tools/list_changed")
			awaitTool(t, s, "late_"+version)
			s.request("resources/subscribe", `{"uri":"test://note"}`).want(http.StatusOK)
			f.setNote(version)
			if got := object(t, stream.awaitMethod("notifications/resources/updated").Params)["uri"]; got != "test://note" {
				t.Errorf("updated %v", got)
			}
			s.request("resources/unsubscribe", `{"uri":"test://note"}`).want(http.StatusOK)
			f.setNote("unheard")
			f.AddPromptLate(version)
			for m := stream.message(); m.Method != "notifications/prompts/list_changed"; m = stream.message() {
				// Another replica may tell once too often, never too seldom.
				if m.Method == "notifications/resources/updated" && !harness.InRedis() {
					t.Errorf("told of what was unsubscribed: %s", m.raw)
				}
			}
			s.delete().want(http.StatusNoContent)
			stream.end()
		})
	}
}

// AddPromptLate makes the list of prompts change.
func (f *fixture) AddPromptLate(name string) {
	capability.AddPrompt(f.Server, &capability.Prompt{Name: "late_" + name, Description: "Comes late"},
		func(context.Context, *capability.Call, map[string]string) (string, error) { return name, nil })
}

// TestStandaloneAgain: who comes back hears of what changed meanwhile. Of two streams the newest tells, and the other when that has ended.
func TestStandaloneAgain(t *testing.T) {
	f, e := startFixture(t)
	s := newSession(t, e.URL, vNov)
	s.request("resources/subscribe", `{"uri":"test://note"}`).want(http.StatusOK)
	f.addTool("meanwhile")
	awaitTool(t, s, "meanwhile")
	stream := s.get("").events()
	stream.awaitMethod("notifications/tools/list_changed")
	stream.awaitMethod("notifications/resources/updated")
	newer := s.get("").events()
	newer.awaitMethod("notifications/resources/updated")
	f.setNote("news")
	newer.awaitMethod("notifications/resources/updated")
	newer.close()
	stream.awaitMethod("notifications/resources/updated") // it is attached again
	f.setNote("more news")
	stream.awaitMethod("notifications/resources/updated")
}

// TestListen: a subscription is acknowledged with what is honoured, tells what was asked for and
// nothing else, and carries its id, of its own type, everywhere.
func TestListen(t *testing.T) {
	f, e := startFixture(t)
	c := newStateless(t, e.URL)
	stream := c.request("subscriptions/listen", map[string]any{"notifications": map[string]any{
		"toolsListChanged": true, "resourceSubscriptions": []string{"test://note", "test://nowhere"},
	}}).want(http.StatusOK).events()
	const subscription = "io.modelcontextprotocol/subscriptionId"
	ack := stream.message()
	params := object(t, ack.Params)
	if ack.Method != "notifications/subscriptions/acknowledged" || dig(params, "_meta", subscription) != float64(1) {
		t.Fatalf("acknowledged by %s", ack.raw)
	}
	uris, _ := dig(params, "notifications", "resourceSubscriptions").([]any)
	if dig(params, "notifications", "toolsListChanged") != true || dig(params, "notifications", "promptsListChanged") != nil ||
		len(uris) != 1 || uris[0] != "test://note" {
		t.Errorf("honoured: %v", params["notifications"])
	}
	f.AddPromptLate("unasked")
	f.setNote("changed")
	updated := stream.message()
	if updated.Method != "notifications/resources/updated" || dig(object(t, updated.Params), "_meta", subscription) != float64(1) ||
		dig(object(t, updated.Params), "uri") != "test://note" {
		t.Errorf("want the note's update: %s", updated.raw)
	}
	f.addTool("listened")
	if m := stream.message(); m.Method != "notifications/tools/list_changed" {
		t.Errorf("want the tools' change: %s", m.raw)
	}
	e.Stop()
	end := stream.message()
	if string(end.ID) != "1" || dig(end.result(t), "_meta", subscription) != float64(1) || dig(end.result(t), "resultType") != "complete" {
		t.Errorf("ended by %s", end.raw)
	}
	stream.end()
}

// TestListenToMany: as many resources are watched as the settings allow, and what is honoured is told.
func TestListenToMany(t *testing.T) {
	_, e := startFixture(t)
	uris := make([]string, 300)
	for i := range uris {
		uris[i] = fmt.Sprintf("test://item/%d", i)
	}
	stream := newStateless(t, e.URL).request("subscriptions/listen", map[string]any{
		"notifications": map[string]any{"resourceSubscriptions": uris},
	}).want(http.StatusOK).events()
	honoured, _ := dig(object(t, stream.message().Params), "notifications", "resourceSubscriptions").([]any)
	if len(honoured) != len(uris) {
		t.Errorf("%d of %d resources are watched", len(honoured), len(uris))
	}
}
