package capability_test

import (
	"context"
	"errors"
	"fmt"
	"os"

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
			return "Deleted.", os.Remove(in.Path)
		})
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
}

func ExampleAddTemplate() {
	s := capability.New("cities", "1.0.0")
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "city://{name}", Name: "city", MimeType: "text/plain"},
		func(_ context.Context, _ *capability.Call, _ string, vars map[string]string) (string, error) {
			return vars["name"] + " is a city.", nil
		}, capability.Suggest("name", "Oslo", "Rome"))
}

func ExampleAddPrompt() {
	s := capability.New("review", "1.0.0")
	capability.AddPrompt(s, &capability.Prompt{Name: "review", Description: "Reviews code",
		Arguments: []*capability.PromptArgument{{Name: "code", Required: true}}},
		func(_ context.Context, _ *capability.Call, args map[string]string) (string, error) {
			return "Review this code:\n" + args["code"], nil
		})
}
