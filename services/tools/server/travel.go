package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/services/internal/sample"
)

type weatherQuery struct {
	City string `json:"city" title:"City" minLength:"1" maxLength:"80" description:"Name of a city, or its airport's code" examples:"Barcelona,Tokyo,ZRH"`
}

type flightQuery struct {
	Origin      string `json:"origin" title:"From" minLength:"1" maxLength:"80" description:"City or airport code" examples:"Zurich,LHR"`
	Destination string `json:"destination" title:"To" minLength:"1" maxLength:"80" description:"City or airport code" examples:"Barcelona,JFK"`
	Date        string `json:"date,omitempty" title:"Day" format:"date" description:"YYYY-MM-DD; without it, the timetable of any day"`
}

type flightList struct {
	Origin      string          `json:"origin" description:"City"`
	Destination string          `json:"destination" description:"City"`
	Date        string          `json:"date,omitempty"`
	Flights     []sample.Flight `json:"flights" description:"Earliest first; empty where there is no connection"`
	Note        string          `json:"note" description:"What this data is"`
}

func addTravel(s *capability.Server) {
	capability.AddTool(s, "weather_current",
		"Reports the weather in a city. Sample data, not a real observation.",
		currentWeather, readOnlyOptions("Current weather", capability.OutputType[sample.Weather]())...)
	capability.AddTool(s, "search_flights",
		"Finds flights between two cities. Sample data, not a real timetable.",
		searchFlights, readOnlyOptions("Search flights", capability.OutputType[flightList]())...)
}

func currentWeather(_ context.Context, _ *capability.Call, in weatherQuery) (*capability.Result, error) {
	w, err := sample.Current(in.City)
	if err != nil {
		return nil, err
	}
	return &capability.Result{Content: []*capability.Content{capability.Text(w.String())}, Structured: w}, nil
}

func searchFlights(_ context.Context, _ *capability.Call, in flightQuery) (*capability.Result, error) {
	found, err := findFlights(in)
	if err != nil {
		return nil, err
	}
	return &capability.Result{Content: []*capability.Content{capability.Text(found.String())}, Structured: found}, nil
}

func findFlights(in flightQuery) (flightList, error) {
	from, to, err := sample.Route(in.Origin, in.Destination)
	if err != nil {
		return flightList{}, err
	}
	if in.Date != "" {
		if _, err := sample.ParseDate(in.Date); err != nil {
			return flightList{}, err
		}
	}
	found := flightList{Origin: from.City, Destination: to.City, Date: in.Date, Note: sample.Notice,
		Flights: sample.Flights(from, to, in.Date)}
	if found.Flights == nil {
		found.Flights = []sample.Flight{}
	}
	return found, nil
}

// String returns the list as text for a model or a person.
func (l flightList) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d flights from %s to %s", len(l.Flights), l.Origin, l.Destination)
	if l.Date != "" {
		fmt.Fprintf(&b, " on %s", l.Date)
	}
	b.WriteString(". " + l.Note)
	for _, f := range l.Flights {
		stops := "non-stop"
		if f.Stops > 0 {
			stops = "one stop"
		}
		fmt.Fprintf(&b, "\n%s %s: departs %s, %d h %02d min, %s, %d EUR",
			f.Number, f.Airline, f.Departure, f.Minutes/60, f.Minutes%60, stops, f.PriceEUR)
	}
	return b.String()
}
