package server

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/services/internal/sample"
)

const jsonType = "application/json"

// addTemplates adds the sample data. It depends on the URI only, so clients may cache it.
func addTemplates(s *capability.Server, now func() time.Time) {
	capability.AddTemplate(s, &capability.ResourceTemplate{
		UriTemplate: "weather://forecast/{city}/{date}", Name: "weather-forecast", Title: "Weather forecast",
		Description: "The weather of a city on a day (YYYY-MM-DD). Sample data, not a real forecast.", MimeType: jsonType,
	}, readForecast,
		capability.Complete("city", func(_ context.Context, _ *capability.Call, value string, _ map[string]string) ([]string, error) {
			return sample.SuggestCities(value), nil
		}),
		capability.Complete("date", func(_ context.Context, _ *capability.Call, value string, _ map[string]string) ([]string, error) {
			return sample.SuggestDates(value, now()), nil
		}))
	capability.AddTemplate(s, &capability.ResourceTemplate{
		UriTemplate: "travel://flights/{origin}/{destination}", Name: "flights", Title: "Flights",
		Description: "The flights between two places, by city or airport code. Sample data, not a real timetable.", MimeType: jsonType,
	}, readFlights,
		capability.Complete("origin", func(_ context.Context, _ *capability.Call, value string, chosen map[string]string) ([]string, error) {
			return sample.SuggestPlaces(value, connectedTo(chosen["destination"])), nil
		}),
		capability.Complete("destination", func(_ context.Context, _ *capability.Call, value string, chosen map[string]string) ([]string, error) {
			return sample.SuggestPlaces(value, connectedTo(chosen["origin"])), nil
		}))
	capability.AddTemplate(s, &capability.ResourceTemplate{
		UriTemplate: "calendar://events/{year}", Name: "events", Title: "Events of a year",
		Description: "Holidays and festivals of a year. Sample data, not a real calendar.", MimeType: jsonType,
	}, readEvents,
		capability.Complete("year", func(_ context.Context, _ *capability.Call, value string, _ map[string]string) ([]string, error) {
			return sample.SuggestYears(value, now()), nil
		}))
}

// connectedTo returns a filter of the places with flights to or from other. It admits all places if
// other is unknown.
func connectedTo(other string) func(sample.Place) bool {
	end, ok := sample.Find(other)
	if !ok {
		return nil
	}
	return func(p sample.Place) bool { return sample.Connected(end, p) }
}

func readForecast(_ context.Context, c *capability.Call, _ string, vars map[string]string) (string, error) {
	w, err := sample.Forecast(vars["city"], vars["date"])
	if err != nil {
		return "", capability.Errorf(capability.NotFound, "%w", err)
	}
	return document(c, w)
}

type flightDocument struct {
	Origin      string          `json:"origin"`
	Destination string          `json:"destination"`
	Flights     []sample.Flight `json:"flights"`
	Note        string          `json:"note"`
}

func readFlights(_ context.Context, c *capability.Call, _ string, vars map[string]string) (string, error) {
	from, to, err := sample.Route(vars["origin"], vars["destination"])
	if err != nil {
		return "", capability.Errorf(capability.NotFound, "%w", err)
	}
	flights := sample.Flights(from, to, "")
	if flights == nil {
		flights = []sample.Flight{}
	}
	return document(c, flightDocument{Origin: from.City, Destination: to.City, Flights: flights, Note: sample.Notice})
}

type eventDocument struct {
	Year   int            `json:"year"`
	Events []sample.Event `json:"events"`
	Note   string         `json:"note"`
}

func readEvents(_ context.Context, c *capability.Call, _ string, vars map[string]string) (string, error) {
	year, err := sample.ParseYear(vars["year"])
	if err != nil {
		return "", capability.Errorf(capability.NotFound, "%w", err)
	}
	return document(c, eventDocument{Year: year, Events: sample.Events(year), Note: sample.Notice})
}

func document(c *capability.Call, v any) (string, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	c.SetCache(24*time.Hour, true)
	return string(data), err
}
