// Command guide has the samples of docs/backends/go.md: a test compares each with the page.
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

// minute is the length of a minute in the samples, shortened for tests.
const minute = 10 * time.Millisecond

type steeping struct {
	Minutes int    `json:"minutes" minimum:"1" maximum:"10" description:"How long"`
	Tea     string `json:"tea" enum:"assam,oolong,sencha" default:"assam"`
}

type steeped struct {
	Tea     string `json:"tea"`
	Minutes int    `json:"minutes"`
}

func steep(ctx context.Context, c *capability.Call, in steeping) (steeped, error) {
	for n := 1; n <= in.Minutes; n++ {
		c.Progress(float64(n), float64(in.Minutes), "")
		select {
		case <-time.After(minute):
		case <-ctx.Done(): // the client has cancelled, or the deadline has passed
			return steeped{}, ctx.Err()
		}
	}
	c.Log(capability.LevelInfo, "", map[string]int{"steeped": in.Minutes})
	return steeped{in.Tea, in.Minutes}, nil
}

type ordering struct {
	Tea string `json:"tea"`
}

type cups struct {
	Cups int `json:"cups" minimum:"1" maximum:"5"`
}

func order(_ context.Context, c *capability.Call, in ordering) (string, error) {
	number, err := capability.Once(c, "number", createOrder)
	if err != nil {
		return "", err
	}
	answer, err := capability.Ask[cups](c, "cups", "How many cups of "+in.Tea+"?")
	if errors.Is(err, capability.ErrUnanswered) {
		return number + ": nothing", nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %d cups of %s", number, answer.Cups, in.Tea), nil
}

type measuring struct {
	Picture []byte `json:"picture" maxLength:"200000" description:"A PNG"`
}

func measure(_ context.Context, _ *capability.Call, in measuring) (string, error) {
	return fmt.Sprintf("%d bytes", len(in.Picture)), nil
}

var notes = map[string]string{"monday": "Buy tea."}

func note(_ context.Context, _ *capability.Call, _ string, vars map[string]string) (string, error) {
	text, ok := notes[vars["day"]]
	if !ok {
		return "", capability.Errorf(capability.NotFound, "there is no note for %s", vars["day"])
	}
	return text, nil
}

func recommend(_ context.Context, _ *capability.Call, arguments map[string]string) (string, error) {
	return "Recommend a tea to a guest who is " + arguments["mood"] + ".", nil
}

func addNotes(s *capability.Server) {
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "notes://{day}", Name: "notes", MimeType: "text/plain"},
		note, capability.Suggest("day", "monday", "tuesday"))
	capability.AddPrompt(s, &capability.Prompt{Name: "recommend", Description: "Recommends a tea",
		Arguments: []*capability.PromptArgument{{Name: "mood", Required: true}}},
		recommend, capability.Suggest("mood", "calm", "cheerful"))
}

//go:embed skills
var folder embed.FS

func addSkills(s *capability.Server) error {
	files, err := fs.Sub(folder, "skills")
	if err != nil {
		return err
	}
	skills, err := capability.NewSkills(files, "skill://", nil)
	if err != nil {
		return err
	}
	s.Provide("skill://", skills)
	return nil
}

func orders(_ context.Context, c *capability.Call, _ struct{}) ([]string, error) {
	guest := c.Principal().GetSubject()
	if guest == "" { // anonymous
		return nil, capability.Errorf(capability.PermissionDenied, "log in to see your orders")
	}
	return ordersOf(guest), nil
}

// ordersOf returns the orders of a guest.
func ordersOf(guest string) []string { return []string{"a tea for " + guest} }

var created atomic.Int64

// createOrder has a side effect that must happen only once.
func createOrder() (string, error) { return "order " + strconv.FormatInt(created.Add(1), 10), nil }

func newServer() *capability.Server {
	s := capability.New("teahouse", "1.0.0")
	capability.AddTool(s, "steep", "Steeps for minutes", steep,
		capability.ReadOnly(), capability.Tasks(capability.TaskOptional))
	capability.AddTool(s, "order", "Orders a tea", order)
	capability.AddTool(s, "measure", "Measures a picture", measure, capability.ReadOnly())
	capability.AddTool(s, "orders", "Lists the caller's orders", orders, capability.ReadOnly())
	addNotes(s)
	if err := addSkills(s); err != nil {
		panic(err) // a skill of the program is invalid
	}
	return s
}

func main() { capability.Main(newServer()) }
