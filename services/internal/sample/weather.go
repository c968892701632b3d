package sample

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Weather is the weather of one place on one day.
type Weather struct {
	City        string `json:"city"`
	Country     string `json:"country"`
	Date        string `json:"date,omitempty" description:"YYYY-MM-DD"`
	Conditions  string `json:"conditions"`
	Temperature int    `json:"temperatureC" description:"Degrees Celsius"`
	Humidity    int    `json:"humidityPercent"`
	Wind        int    `json:"windKmh" description:"Kilometres per hour"`
	Note        string `json:"note" description:"What this data is"`
}

var conditions = []string{"sunny", "partly cloudy", "cloudy", "light rain", "rain", "windy", "foggy"}

// KnownPlaces returns the list of places for an error message.
func KnownPlaces() string {
	names := make([]string, len(places))
	for i, p := range places {
		names[i] = p.City + " (" + p.Code + ")"
	}
	return strings.Join(names, ", ")
}

// Current returns the weather of a city, by name or airport code. It is always the same.
func Current(city string) (Weather, error) {
	p, ok := Find(city)
	if !ok {
		return Weather{}, fmt.Errorf("no weather for %.80q; known cities: %s", city, KnownPlaces())
	}
	w := weatherOf(p, "now", 120)
	return w, nil
}

// Forecast returns the weather of a city on a date.
func Forecast(city, date string) (Weather, error) {
	day, err := ParseDate(date)
	if err != nil {
		return Weather{}, err
	}
	p, ok := Find(city)
	if !ok {
		return Weather{}, fmt.Errorf("no weather for %.80q; known cities: %s", city, KnownPlaces())
	}
	w := weatherOf(p, date, day.YearDay())
	w.Date = day.Format(DateLayout)
	return w, nil
}

// weatherOf computes the weather from latitude and season, with some variation.
func weatherOf(p Place, when string, yearDay int) Weather {
	mean := 29 - 0.42*math.Abs(p.latitude)
	swing := math.Min(12, 0.25*math.Abs(p.latitude))
	season := -math.Cos(2 * math.Pi * float64(yearDay-20) / 365)
	if p.latitude < 0 {
		season = -season
	}
	return Weather{
		City: p.City, Country: p.Country, Note: Notice,
		Conditions:  conditions[pick(len(conditions), p.Code, when, "conditions")],
		Temperature: int(math.Round(mean+swing*season)) + pick(7, p.Code, when, "temperature") - 3,
		Humidity:    40 + pick(50, p.Code, when, "humidity"),
		Wind:        2 + pick(35, p.Code, when, "wind"),
	}
}

// String returns the weather as one line.
func (w Weather) String() string {
	day := "now"
	if w.Date != "" {
		day = "on " + w.Date
	}
	return fmt.Sprintf("%s, %s, %s: %s, %d °C, humidity %d %%, wind %d km/h. %s",
		w.City, w.Country, day, w.Conditions, w.Temperature, w.Humidity, w.Wind, w.Note)
}

// SuggestDates returns days from today that begin with text, up to 31 within two years. For an
// empty text it returns the next 14 days.
func SuggestDates(text string, today time.Time) []string {
	var days []string
	for i := range 730 {
		if text == "" && i == 14 {
			break
		}
		day := today.AddDate(0, 0, i).Format(DateLayout)
		if strings.HasPrefix(day, text) {
			if days = append(days, day); len(days) == 31 {
				break
			}
		}
	}
	return days
}
