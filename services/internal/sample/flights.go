package sample

import (
	"fmt"
	"strconv"
	"time"
)

// DateLayout is the layout of dates: YYYY-MM-DD.
const DateLayout = "2006-01-02"

// Flight is one flight. Times have no time zone: this is sample data.
type Flight struct {
	Number      string `json:"number" description:"Flight number"`
	Airline     string `json:"airline"`
	Origin      string `json:"origin" description:"IATA code"`
	Destination string `json:"destination" description:"IATA code"`
	Departure   string `json:"departure" description:"Time of day, HH:MM"`
	Minutes     int    `json:"minutes" description:"Duration in minutes"`
	Stops       int    `json:"stops"`
	PriceEUR    int    `json:"priceEur" description:"Price in euros"`
}

var airlines = []struct{ code, name string }{
	{"XA", "Example Air"}, {"XB", "Blue Sample"}, {"XN", "Northern Demo"}, {"XO", "Orbit Lines"},
}

// ParseDate parses a date from 1900 to 2100. The error describes the format.
func ParseDate(text string) (time.Time, error) {
	date, err := time.Parse(DateLayout, text)
	if err != nil || date.Year() < 1900 || date.Year() > 2100 {
		return time.Time{}, fmt.Errorf("date %.40q: write a day of the years 1900 to 2100 as YYYY-MM-DD, such as 2026-07-28", text)
	}
	return date, nil
}

// Route returns both ends of a connection, by city or code. The error names the unknown place and
// the known ones.
func Route(origin, destination string) (from, to Place, err error) {
	from, ok := Find(origin)
	if !ok {
		return from, to, unknownPlace("origin", origin)
	}
	to, ok = Find(destination)
	if !ok {
		return from, to, unknownPlace("destination", destination)
	}
	if from.Code == to.Code {
		return from, to, fmt.Errorf("origin and destination are both %s; choose two places", from.City)
	}
	return from, to, nil
}

// Connected reports whether there are flights between two places, which is so for about three of
// four pairs.
func Connected(from, to Place) bool {
	return from.Code != to.Code && pick(4, "route", min(from.Code, to.Code), max(from.Code, to.Code)) != 0
}

// Flights returns the flights of a day, earliest first, or none without a connection. date affects
// the prices; an empty date means the general timetable.
func Flights(from, to Place, date string) []Flight {
	if !Connected(from, to) {
		return nil
	}
	distance := kilometres(from, to)
	n := 2 + pick(3, "flights", from.Code, to.Code)
	flights := make([]Flight, n)
	for i := range flights {
		key := []string{from.Code, to.Code, strconv.Itoa(i)}
		airline := airlines[pick(len(airlines), append(key, "airline")...)]
		stops := 0
		if distance > 9000 || pick(5, append(key, "stops")...) == 0 {
			stops = 1
		}
		hour := 6 + i*15/n + pick(2, append(key, "hour")...)
		price := 40 + int(distance*0.07) + pick(60, append(key, "price", date)...) - 15*stops
		flights[i] = Flight{
			Number:      fmt.Sprintf("%s%d", airline.code, 100+pick(900, append(key, "number")...)),
			Airline:     airline.name,
			Origin:      from.Code,
			Destination: to.Code,
			Departure:   fmt.Sprintf("%02d:%02d", hour, 5*pick(12, append(key, "minute")...)),
			Minutes:     35 + int(distance/13.5) + 95*stops,
			Stops:       stops,
			PriceEUR:    price,
		}
	}
	return flights
}

func unknownPlace(what, text string) error {
	return fmt.Errorf("%s %.80q is not known; known places: %s", what, text, KnownPlaces())
}
