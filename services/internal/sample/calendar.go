package sample

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Event is a notable day.
type Event struct {
	Date string `json:"date"`
	Name string `json:"name"`
	City string `json:"city,omitempty"`
}

var festivals = []string{"Jazz Festival", "Travel Fair", "Film Week", "City Marathon", "Night of Museums", "Food Market"}

// ParseYear parses a year from 1900 to 2100.
func ParseYear(text string) (int, error) {
	year, err := strconv.Atoi(text)
	if err != nil || len(text) != 4 || year < 1900 || year > 2100 {
		return 0, fmt.Errorf("year %.40q: write a year from 1900 to 2100, such as 2026", text)
	}
	return year, nil
}

// Events returns the events of a year, sorted by date.
func Events(year int) []Event {
	day := func(month time.Month, d int) string {
		return time.Date(year, month, d, 0, 0, 0, 0, time.UTC).Format(DateLayout)
	}
	events := []Event{
		{Date: day(time.January, 1), Name: "New Year's Day"},
		{Date: day(time.May, 1), Name: "May Day"},
		{Date: day(time.December, 24), Name: "Christmas Eve"},
		{Date: day(time.December, 31), Name: "New Year's Eve"},
	}
	for i, festival := range festivals {
		key := []string{festival, strconv.Itoa(year)}
		events = append(events, Event{
			Date: day(time.Month(2+i*3/2), 1+pick(28, append(key, "day")...)),
			Name: festival,
			City: places[pick(len(places), append(key, "city")...)].City,
		})
	}
	sort.SliceStable(events, func(i, j int) bool { return events[i].Date < events[j].Date })
	return events
}

// SuggestYears returns years close to the current one that begin with text, the next ones first.
func SuggestYears(text string, today time.Time) []string {
	var years []string
	for _, offset := range []int{0, 1, 2, 3, 4, 5, -1, -2, -3, -4, -5} {
		if year := strconv.Itoa(today.Year() + offset); strings.HasPrefix(year, text) {
			years = append(years, year)
		}
	}
	return years
}
