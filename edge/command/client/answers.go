package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// answers are the values of --answer in their order. It is safe for concurrent use, because a tool
// may ask several questions at once.
type answers struct {
	stderr io.Writer

	mu   sync.Mutex
	left []answer
	// asked are the keys of the questions so far, without duplicates. questions counts the
	// questions without a key.
	asked     []string
	questions int
}

type answer struct {
	key    string
	result mcp.ElicitResult
}

// add parses a value of --answer.
func (a *answers) add(text string) error {
	key, raw, found := strings.Cut(text, "=")
	if !found || key == "" || strings.HasPrefix(key, "{") {
		return errors.New(`write it as KEY=JSON, as sure={"sure":true}`)
	}
	var content map[string]any
	if err := json.Unmarshal([]byte(raw), &content); err != nil || content == nil {
		return fmt.Errorf("%.80q is not a JSON object: give the content of the form, or an action, as {\"action\":\"decline\"}", raw)
	}
	result := mcp.ElicitResult{Action: "accept", Content: content}
	switch action, _ := content["action"].(string); {
	case action == "decline", action == "cancel":
		result = mcp.ElicitResult{Action: action}
	case action == "accept" && len(content) == 1: // a URL was opened, or a form without fields
		result.Content = nil
	case action == "accept":
		inner, is := content["content"].(map[string]any)
		if !is || len(content) > 2 {
			return fmt.Errorf("%.80q has an action: beside it there may be content alone, an object", raw)
		}
		result.Content = inner
	}
	a.left = append(a.left, answer{key, result})
	return nil
}

// of removes and returns the answer to the question with a key. Without such an answer it prints
// the question and declines it.
func (a *answers) of(key string, question *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	a.mu.Lock()
	if !slices.Contains(a.asked, key) {
		a.asked = append(a.asked, key)
	}
	a.mu.Unlock()
	return a.take(key, question, func(given answer) bool { return given.key == key })
}

// next removes and returns the first remaining answer, for a question of a revision without keys.
func (a *answers) next(question *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	a.mu.Lock()
	a.questions++
	a.mu.Unlock()
	return a.take("KEY", question, func(answer) bool { return true })
}

func (a *answers) take(key string, question *mcp.ElicitParams, is func(answer) bool) (*mcp.ElicitResult, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = fmt.Fprintln(a.stderr, "asked:", question.Message)
	if question.URL != "" {
		_, _ = fmt.Fprintln(a.stderr, "open:", question.URL)
	}
	if i := slices.IndexFunc(a.left, is); i >= 0 {
		given := a.left[i].result
		a.left = slices.Delete(a.left, i, i+1)
		return &given, nil
	}
	want := `{"action":"accept"}`
	if question.URL == "" {
		want = wanted(question.RequestedSchema)
	}
	_, err := fmt.Fprintf(a.stderr, "declined: answer it with --answer %s='%s'\n", key, want)
	return &mcp.ElicitResult{Action: "decline"}, err
}

// wanted returns an example of an answer as JSON: the fields of a schema, each with a value of its
// type, or with all values of an enum.
func wanted(schema any) string {
	fields := map[string]any{}
	object, _ := schema.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	for name, property := range properties {
		one, _ := property.(map[string]any)
		fields[name] = example(one)
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return "{}"
	}
	return string(raw)
}

// example returns an example of a value of a schema.
func example(schema map[string]any) any {
	if values, ok := schema["enum"].([]any); ok && len(values) > 0 {
		return choice(values, "")
	}
	if values, ok := schema["oneOf"].([]any); ok && len(values) > 0 {
		return choice(values, "const")
	}
	switch schema["type"] {
	case "boolean":
		return true
	case "integer", "number":
		return 1
	case "array":
		items, _ := schema["items"].(map[string]any)
		return []any{example(items)}
	}
	return "…"
}

// choice returns all values of an enum as one text. member is the member that has the value, if the
// values are objects.
func choice(values []any, member string) string {
	texts := make([]string, len(values))
	for i, v := range values {
		if one, ok := v.(map[string]any); ok {
			v = one[member]
		}
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, "|")
}
