package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpedge/mcpedge/capability"
)

type recommendationQuery struct {
	flightQuery
	Preferences string `json:"preferences,omitempty" title:"What matters" maxLength:"500" description:"Such as: cheap, or no early departure"`
}

func addRecommendation(s *capability.Server) {
	capability.AddTool(s, "recommend_flight",
		"Lets the client's model choose among the flights between two cities. Sample data, not a real timetable.",
		recommendFlight, readOnlyOptions("Recommend a flight")...)
}

func recommendFlight(_ context.Context, c *capability.Call, in recommendationQuery) (string, error) {
	found, err := findFlights(in.flightQuery)
	if err != nil {
		return "", err
	}
	if len(found.Flights) == 0 {
		return fmt.Sprintf("There is no connection from %s to %s to recommend.", found.Origin, found.Destination), nil
	}
	wish := in.Preferences
	if wish == "" {
		wish = "a good balance of price and travel time"
	}
	temperature := 0.2
	answer := c.Sample("recommendation", &capability.SamplingRequest{
		Messages: []*capability.SamplingMessage{capability.SamplingText(capability.User,
			fmt.Sprintf("%s\n\nWhat matters to the traveller: %s\nWhich flight do you recommend, and why? Answer in at most three sentences.", found, wish))},
		SystemPrompt: "You advise travellers. Recommend exactly one of the listed flights by its number.",
		MaxTokens:    300,
		Temperature:  &temperature,
	})
	text := samplingText(answer)
	if text == "" {
		return "", fmt.Errorf("the client's model %q answered without text; ask again", answer.GetModel())
	}
	return fmt.Sprintf("%s\n\n(Recommended by %s.)", text, model(answer)), nil
}

// samplingText joins the text blocks of an answer.
func samplingText(r *capability.SamplingResult) string {
	var texts []string
	for _, content := range r.GetContent() {
		if t := strings.TrimSpace(content.GetText().GetText()); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}

func model(r *capability.SamplingResult) string {
	if r.GetModel() == "" {
		return "the client's model"
	}
	return r.GetModel()
}
