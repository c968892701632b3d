package sample

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFind(t *testing.T) {
	for text, want := range map[string]string{
		"Barcelona": "BCN", "bcn": "BCN", "  new   york ": "JFK", "Sao Paulo": "GRU", "são paulo": "GRU", "ZURICH": "ZRH", "": "", "Bar": "",
	} {
		if p, ok := Find(text); ok != (want != "") || p.Code != want {
			t.Errorf("Find(%q) = %v, %v; want %q", text, p, ok, want)
		}
	}
}

func TestFlightsConnectBothWays(t *testing.T) {
	connected := 0
	for _, from := range Places() {
		if Connected(from, from) {
			t.Errorf("%s is connected with itself", from.City)
		}
		for _, to := range Places() {
			if Connected(from, to) != Connected(to, from) {
				t.Errorf("%s and %s are connected one way", from.City, to.City)
			}
			flights := Flights(from, to, "2026-07-28")
			if Connected(from, to) != (len(flights) > 0) {
				t.Errorf("%s to %s: %d flights", from.City, to.City, len(flights))
			}
			if len(flights) > 0 {
				connected++
			}
			for _, f := range flights {
				if f.PriceEUR <= 0 || f.Minutes < 35 || f.Minutes > 48*60 || f.Origin != from.Code || f.Destination != to.Code || f.Departure < "05:00" || f.Departure > "24:00" {
					t.Errorf("%+v", f)
				}
			}
			if !slices.IsSortedFunc(flights, func(a, b Flight) int { return strings.Compare(a.Departure, b.Departure) }) {
				t.Errorf("%s to %s: not in order: %v", from.City, to.City, flights)
			}
			if !slices.Equal(flights, Flights(from, to, "2026-07-28")) {
				t.Errorf("%s to %s: other flights the second time", from.City, to.City)
			}
		}
	}
	if all := len(places) * (len(places) - 1); connected < all/2 || connected == all {
		t.Errorf("%d of %d are connected", connected, all)
	}
}

func TestWeatherIsPlausible(t *testing.T) {
	for _, p := range Places() {
		for _, date := range []string{"2026-01-15", "2026-04-15", "2026-07-15", "2026-10-15"} {
			w, err := Forecast(p.City, date)
			if err != nil || w.Temperature < -25 || w.Temperature > 45 || w.Humidity < 0 || w.Humidity > 100 || w.Note == "" || w.Date != date {
				t.Errorf("%+v, %v", w, err)
			}
		}
		if w, err := Current(p.Code); err != nil || w.City != p.City || w.Date != "" {
			t.Errorf("%+v, %v", w, err)
		}
	}
	summer, _ := Forecast("Oslo", "2026-07-15")
	winter, _ := Forecast("Oslo", "2026-01-15")
	if summer.Temperature <= winter.Temperature {
		t.Errorf("Oslo: %d in July, %d in January", summer.Temperature, winter.Temperature)
	}
}

func TestDatesAndYears(t *testing.T) {
	for _, text := range []string{"", "2026-7-1", "2026-02-30", "1899-12-31", "2101-01-01", "today", "2026-07-28T00:00:00Z"} {
		if _, err := ParseDate(text); err == nil {
			t.Errorf("ParseDate(%q) succeeded", text)
		}
	}
	for _, text := range []string{"", "26", "02026", "1899", "2101", "+202", "20 6"} {
		if _, err := ParseYear(text); err == nil {
			t.Errorf("ParseYear(%q) succeeded", text)
		}
	}
	today := time.Date(2026, time.December, 30, 23, 0, 0, 0, time.UTC)
	if got := SuggestDates("", today); len(got) != 14 || got[0] != "2026-12-30" || got[2] != "2027-01-01" {
		t.Errorf("dates %v", got)
	}
	if got := SuggestDates("2027-02", today); len(got) != 28 || got[27] != "2027-02-28" {
		t.Errorf("days of February: %v", got)
	}
}

func TestEventsAreOfTheirYear(t *testing.T) {
	for year := 1900; year <= 2100; year += 25 {
		events := Events(year)
		for i, e := range events {
			day, err := ParseDate(e.Date)
			if err != nil || day.Year() != year || e.Name == "" || (i > 0 && events[i-1].Date > e.Date) {
				t.Errorf("%d: %+v, %v", year, e, err)
			}
		}
		if !slices.Equal(events, Events(year)) {
			t.Errorf("%d: other events the second time", year)
		}
	}
}
