package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/services/internal/sample"
)

// builtin are the names that files must not use.
var builtin = map[string]bool{"plan-vacation": true, "code_review": true}

const maxDays = 60

var interests = []string{"architecture", "art", "beaches", "cycling", "family", "food", "hiking", "history", "museums", "music", "nature", "nightlife", "shopping", "sports"}

var languages = []string{"C", "C#", "C++", "Go", "Haskell", "Java", "JavaScript", "Kotlin", "PHP", "Python", "Ruby", "Rust", "Scala", "Shell", "SQL", "Swift", "TypeScript"}

func addVacation(s *capability.Server) {
	capability.AddPrompt(s, &capability.Prompt{
		Name: "plan-vacation", Title: "Plan a vacation", Description: "Plans a vacation day by day.",
		Arguments: []*capability.PromptArgument{
			{Name: "destination", Title: "Where to", Description: "A city", Required: true},
			{Name: "days", Title: "Days", Description: "How many days, from 1 to 60; without it, 7"},
			{Name: "interests", Title: "Interests", Description: "What the travellers like, separated by commas"},
		},
	}, planVacation,
		capability.Complete("destination", func(_ context.Context, _ *capability.Call, value string, _ map[string]string) ([]string, error) {
			return sample.SuggestCities(value), nil
		}),
		capability.Suggest("days", "3", "5", "7", "10", "14", "21"),
		capability.Complete("interests", func(_ context.Context, _ *capability.Call, value string, _ map[string]string) ([]string, error) {
			return suggestInterests(value), nil
		}))
}

func planVacation(_ context.Context, _ *capability.Call, arguments map[string]string) (string, error) {
	destination := strings.TrimSpace(arguments["destination"])
	if destination == "" {
		return "", capability.Errorf(capability.InvalidArgument, "the argument destination is empty; name a city")
	}
	days := 7
	if text := strings.TrimSpace(arguments["days"]); text != "" {
		var err error
		if days, err = strconv.Atoi(text); err != nil || days < 1 || days > maxDays {
			return "", capability.Errorf(capability.InvalidArgument, "days: %.40q is not a whole number from 1 to %d", text, maxDays)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Plan a vacation of %d days in %s.\n", days, destination)
	if liked := strings.TrimSpace(arguments["interests"]); liked != "" {
		fmt.Fprintf(&b, "The travellers like: %s.\n", liked)
	}
	b.WriteString("\nLook up flights and the weather with the tools you have. Give a plan for each day with a morning, " +
		"an afternoon and an evening, an estimate of the costs, and what to pack. Ask before you book anything.")
	return b.String(), nil
}

// suggestInterests completes the last entry of a comma-separated list, without entries already in
// it.
func suggestInterests(value string) []string {
	head, last := "", value
	if i := strings.LastIndex(value, ","); i >= 0 {
		head, last = value[:i+1]+" ", value[i+1:]
	}
	last = strings.ToLower(strings.TrimSpace(last))
	taken := map[string]bool{}
	for _, item := range strings.Split(head, ",") {
		taken[strings.ToLower(strings.TrimSpace(item))] = true
	}
	var values []string
	for _, interest := range interests {
		if strings.HasPrefix(interest, last) && !taken[interest] {
			values = append(values, head+interest)
		}
	}
	return values
}

func addReview(s *capability.Server) {
	capability.AddPrompt(s, &capability.Prompt{
		Name: "code_review", Title: "Review code", Description: "Reviews a piece of code.",
		Arguments: []*capability.PromptArgument{
			{Name: "code", Title: "Code", Description: "The code to review", Required: true},
			{Name: "language", Title: "Language", Description: "The programming language; without it, the model's guess"},
			{Name: "focus", Title: "Focus", Description: "What to look at above all"},
		},
	}, reviewCode,
		capability.Suggest("language", languages...),
		capability.Suggest("focus", "bugs", "concurrency", "error handling", "naming", "performance", "security", "style", "tests"))
}

func reviewCode(_ context.Context, _ *capability.Call, arguments map[string]string) (string, error) {
	code := arguments["code"]
	if strings.TrimSpace(code) == "" {
		return "", capability.Errorf(capability.InvalidArgument, "the argument code is empty; give the code to review")
	}
	language := strings.TrimSpace(arguments["language"])
	var b strings.Builder
	b.WriteString("Review the following ")
	if language != "" {
		b.WriteString(language + " ")
	}
	b.WriteString("code. Begin with mistakes, then what is hard to read, then what could be simpler; say why, and show the better code.")
	if focus := strings.TrimSpace(arguments["focus"]); focus != "" {
		fmt.Fprintf(&b, " Look at %s above all.", focus)
	}
	fence := fenceFor(code)
	fmt.Fprintf(&b, "\n\n%s%s\n%s\n%s\n", fence, strings.ToLower(language), strings.TrimRight(code, "\n"), fence)
	return b.String(), nil
}

// fenceFor returns a Markdown fence that does not occur in the code.
func fenceFor(code string) string {
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	return fence
}
