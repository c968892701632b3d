package capability_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpedge/mcpedge/capability"
)

func ExampleAddTool() {
	type Args struct {
		City string `json:"city" description:"City name"`
		Unit string `json:"unit" enum:"celsius,fahrenheit" default:"celsius"`
	}
	type Weather struct {
		Degrees float64 `json:"degrees"`
	}
	s := capability.New("weather", "1.0.0")
	capability.AddTool(s, "weather_current", "Current weather of a city",
		func(_ context.Context, _ *capability.Call, in Args) (Weather, error) {
			if in.City == "Atlantis" {
				return Weather{}, errors.New("Atlantis has no weather station; try another city")
			}
			return Weather{Degrees: 21.5}, nil
		}, capability.ReadOnly(), capability.Title("Weather"))

	client, stop := serve(s)
	defer stop()
	fmt.Println(client.call("weather_current", Args{City: "Oslo"}))
	fmt.Println(client.call("weather_current", Args{City: "Atlantis"}))
	// Output:
	// {"degrees":21.5}
	// Atlantis has no weather station; try another city
}

func ExampleAsk() {
	type Confirmation struct {
		Sure bool `json:"sure" title:"Yes, delete it"`
	}
	type Args struct {
		Path string `json:"path"`
	}
	s := capability.New("files", "1.0.0")
	capability.AddTool(s, "file_delete", "Deletes a file",
		func(_ context.Context, c *capability.Call, in Args) (string, error) {
			answer, err := capability.Ask[Confirmation](c, "confirm", "Really delete "+in.Path+"?")
			if err != nil || !answer.Sure {
				return "Nothing was deleted.", nil
			}
			return in.Path + " is deleted.", nil
		})

	client, stop := serve(s)
	defer stop()
	client.Answer = accepts(`{"sure":true}`)
	fmt.Println(client.call("file_delete", Args{Path: "notes.txt"}))
	client.Answer = declines
	fmt.Println(client.call("file_delete", Args{Path: "notes.txt"}))
	// Output:
	// asked: Really delete notes.txt?
	// notes.txt is deleted.
	// asked: Really delete notes.txt?
	// Nothing was deleted.
}

func ExampleCall_AskAll() {
	type Name struct {
		First string `json:"first"`
	}
	s := capability.New("hello", "1.0.0")
	capability.AddTool(s, "hello", "Greets the user",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			who, where := capability.Form[Name]("who", "Who are you?"), capability.ListRoots("where")
			c.AskAll(who, where) // one round for both
			name, err := who.Answer(c)
			if err != nil {
				return "", err
			}
			roots, _ := where.Answer(c)
			return fmt.Sprintf("Hello %s, you have %d roots.", name.First, len(roots)), nil
		})

	client, stop := serve(s)
	defer stop()
	client.Answer = accepts(`{"first":"Ada"}`)
	fmt.Println(client.call("hello", nil))
	// Output:
	// asked: Who are you?
	// Hello Ada, you have 0 roots.
}

func ExampleAddTemplate() {
	s := capability.New("cities", "1.0.0")
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "city://{name}", Name: "city", MimeType: "text/plain"},
		func(_ context.Context, _ *capability.Call, _ string, vars map[string]string) (string, error) {
			return vars["name"] + " is a city.", nil
		}, capability.Suggest("name", "Oslo", "Rome"))

	client, stop := serve(s)
	defer stop()
	fmt.Println(client.read("city://Rome"))
	// Output:
	// Rome is a city.
}

func ExampleAddPrompt() {
	s := capability.New("review", "1.0.0")
	capability.AddPrompt(s, &capability.Prompt{Name: "review", Description: "Reviews code",
		Arguments: []*capability.PromptArgument{{Name: "code", Required: true}}},
		func(_ context.Context, _ *capability.Call, args map[string]string) (string, error) {
			return "Review this code: " + args["code"], nil
		})

	client, stop := serve(s)
	defer stop()
	fmt.Println(client.prompt("review", map[string]string{"code": "x := 1"}))
	// Output:
	// Review this code: x := 1
}

func ExampleCall_Progress() {
	s := capability.New("kitchen", "1.0.0")
	capability.AddTool(s, "bake", "Bakes loaves",
		func(ctx context.Context, c *capability.Call, in struct {
			Loaves int `json:"loaves" minimum:"1"`
		}) (string, error) {
			for n := 1; n <= in.Loaves; n++ {
				if ctx.Err() != nil { // the client has cancelled
					return "", ctx.Err()
				}
				c.Progress(float64(n), float64(in.Loaves), fmt.Sprintf("loaf %d", n))
			}
			return "All done.", nil
		})

	client, stop := serve(s)
	defer stop()
	fmt.Println(client.call("bake", map[string]int{"loaves": 2}))
	// Output:
	// progress: 1 of 2, loaf 1
	// progress: 2 of 2, loaf 2
	// All done.
}

func ExampleErrorf() {
	s := capability.New("library", "1.0.0")
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "book://{title}", Name: "book"},
		func(_ context.Context, _ *capability.Call, _ string, vars map[string]string) (string, error) {
			return "", capability.Errorf(capability.NotFound, "there is no book %q; list the books first", vars["title"])
		})

	client, stop := serve(s)
	defer stop()
	fmt.Println(client.read("book://Emma"))
	// Output:
	// FAILURE_REASON_NOT_FOUND: there is no book "Emma"; list the books first
}
