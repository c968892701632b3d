package hook

import (
	"bytes"
	"encoding/json"

	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// MapTexts replaces each text of an outcome by the result of replace: texts of content and resources, each string in structured content,
// names of members among them, suggestions, and the message of an error. Blobs, images and sounds are not changed.
func MapTexts(out *Outcome, replace func(text string) string) {
	switch o := out.GetOutcome().(type) {
	case *hookv1.Outcome_Tool:
		for _, c := range o.Tool.GetContent() {
			mapBlock(c, replace)
		}
		o.Tool.StructuredContentJson = MapStrings(o.Tool.GetStructuredContentJson(), replace)
		o.Tool.MetaJson = MapStrings(o.Tool.GetMetaJson(), replace)
	case *hookv1.Outcome_Resource:
		for _, c := range o.Resource.GetContents() {
			mapContents(c, replace)
		}
	case *hookv1.Outcome_Prompt:
		o.Prompt.Description = replace(o.Prompt.GetDescription())
		for _, m := range o.Prompt.GetMessages() {
			mapBlock(m.GetContent(), replace)
		}
	case *hookv1.Outcome_Values:
		for i, text := range o.Values.GetValues() {
			o.Values.Values[i] = replace(text)
		}
	case *hookv1.Outcome_Error:
		o.Error.Message = replace(o.Error.GetMessage())
		o.Error.DataJson = MapStrings(o.Error.GetDataJson(), replace)
	}
}

func mapBlock(block *mcpedgev1.ContentBlock, replace func(string) string) {
	switch c := block.GetContent().(type) {
	case *mcpedgev1.ContentBlock_Text:
		c.Text.Text = replace(c.Text.GetText())
	case *mcpedgev1.ContentBlock_ResourceLink:
		c.ResourceLink.Title, c.ResourceLink.Description = replace(c.ResourceLink.GetTitle()), replace(c.ResourceLink.GetDescription())
	case *mcpedgev1.ContentBlock_Resource:
		mapContents(c.Resource, replace)
	case *mcpedgev1.ContentBlock_RawJson:
		c.RawJson = MapStrings(c.RawJson, replace)
	}
	if block.GetMetaJson() != "" {
		block.MetaJson = MapStrings(block.GetMetaJson(), replace)
	}
}

func mapContents(contents *mcpedgev1.ResourceContents, replace func(string) string) {
	if text, ok := contents.GetBody().(*mcpedgev1.ResourceContents_Text); ok {
		text.Text = replace(text.Text)
	}
}

// MapStrings replaces each string in a JSON text by the result of replace, and changes nothing
// else. The names of members are replaced too. An invalid text is returned unchanged.
func MapStrings(text string, replace func(text string) string) string {
	if text == "" || !json.Valid([]byte(text)) {
		return text
	}
	var out bytes.Buffer
	changed := false
	for i := 0; i < len(text); {
		if text[i] != '"' {
			out.WriteByte(text[i])
			i++
			continue
		}
		end := i + 1
		for text[end] != '"' { // It is valid.
			if text[end] == '\\' {
				end++
			}
			end++
		}
		literal := text[i : end+1]
		var was string
		_ = json.Unmarshal([]byte(literal), &was) // It is a valid string.
		if now := replace(was); now != was {
			changed = true
			quoted, _ := json.Marshal(now) // A string is always JSON.
			literal = string(quoted)
		}
		out.WriteString(literal)
		i = end + 1
	}
	if !changed {
		return text
	}
	return out.String()
}
