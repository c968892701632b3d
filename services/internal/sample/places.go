// Package sample is the invented travel data of the bundled services: places, flights, weather and
// events. All values are computed from the inputs alone, so the same question always has the same
// answer.
package sample

import (
	"hash/fnv"
	"math"
	"slices"
	"strings"
)

// Notice describes the data in results and descriptions.
const Notice = "Sample data, made up for demonstration."

// Place is a city with its airport.
type Place struct {
	// Code is the IATA code of the airport.
	Code string
	// City and Country are the English names.
	City, Country string
	// latitude and longitude are in degrees.
	latitude, longitude float64
}

// places is sorted by city.
var places = []Place{
	{"AMS", "Amsterdam", "Netherlands", 52.3, 4.8},
	{"ATH", "Athens", "Greece", 37.9, 23.9},
	{"BKK", "Bangkok", "Thailand", 13.7, 100.7},
	{"BCN", "Barcelona", "Spain", 41.3, 2.1},
	{"BSL", "Basel", "Switzerland", 47.6, 7.5},
	{"BER", "Berlin", "Germany", 52.4, 13.5},
	{"BRU", "Brussels", "Belgium", 50.9, 4.5},
	{"CPT", "Cape Town", "South Africa", -34.0, 18.6},
	{"CPH", "Copenhagen", "Denmark", 55.6, 12.7},
	{"DUB", "Dublin", "Ireland", 53.4, -6.3},
	{"IST", "Istanbul", "Türkiye", 41.3, 28.8},
	{"LIS", "Lisbon", "Portugal", 38.8, -9.1},
	{"LHR", "London", "United Kingdom", 51.5, -0.5},
	{"MAD", "Madrid", "Spain", 40.5, -3.6},
	{"MEL", "Melbourne", "Australia", -37.7, 144.8},
	{"JFK", "New York", "United States", 40.6, -73.8},
	{"OSL", "Oslo", "Norway", 60.2, 11.1},
	{"CDG", "Paris", "France", 49.0, 2.5},
	{"PRG", "Prague", "Czechia", 50.1, 14.3},
	{"KEF", "Reykjavik", "Iceland", 64.0, -22.6},
	{"FCO", "Rome", "Italy", 41.8, 12.2},
	{"SFO", "San Francisco", "United States", 37.6, -122.4},
	{"GRU", "São Paulo", "Brazil", -23.4, -46.5},
	{"SIN", "Singapore", "Singapore", 1.4, 104.0},
	{"SYD", "Sydney", "Australia", -33.9, 151.2},
	{"HND", "Tokyo", "Japan", 35.6, 139.8},
	{"YYZ", "Toronto", "Canada", 43.7, -79.6},
	{"VIE", "Vienna", "Austria", 48.1, 16.6},
	{"ZRH", "Zurich", "Switzerland", 47.5, 8.5},
}

// Places returns all places, sorted by city. The caller owns the slice.
func Places() []Place { return slices.Clone(places) }

// Cities returns the names of all cities, sorted.
func Cities() []string {
	names := make([]string, len(places))
	for i, p := range places {
		names[i] = p.City
	}
	return names
}

// Find returns the place with this city name or airport code. Case and accents are ignored.
func Find(text string) (Place, bool) {
	text = fold(text)
	for _, p := range places {
		if fold(p.City) == text || fold(p.Code) == text {
			return p, true
		}
	}
	return Place{}, false
}

// SuggestPlaces returns the cities that begin with text, then their airport codes and the codes
// that begin with text: "Bar" yields Barcelona and BCN. An empty text yields cities only. Places
// for which admit returns false are excluded; a nil admit allows all.
func SuggestPlaces(text string, admit func(Place) bool) []string {
	text = fold(text)
	var cities, codes []string
	for _, p := range places {
		if admit != nil && !admit(p) {
			continue
		}
		switch {
		case text == "":
			cities = append(cities, p.City)
		case strings.HasPrefix(fold(p.City), text):
			cities = append(cities, p.City)
			codes = append(codes, p.Code)
		case strings.HasPrefix(fold(p.Code), text):
			codes = append(codes, p.Code)
		}
	}
	return append(cities, codes...)
}

// SuggestCities is SuggestPlaces with names of cities only. A code yields its city.
func SuggestCities(text string) []string {
	text = fold(text)
	var cities []string
	for _, p := range places {
		if strings.HasPrefix(fold(p.City), text) || (text != "" && strings.HasPrefix(fold(p.Code), text)) {
			cities = append(cities, p.City)
		}
	}
	return cities
}

var unaccented = strings.NewReplacer("ã", "a", "á", "a", "é", "e", "ü", "u", "ö", "o", "í", "i")

// fold returns a form in which names are compared.
func fold(text string) string {
	return unaccented.Replace(strings.ToLower(strings.Join(strings.Fields(text), " ")))
}

// pick returns a pseudorandom number from 0 to n-1 that depends on the parts only.
func pick(n int, parts ...string) int {
	h := fnv.New64a()
	for _, p := range parts {
		_, _ = h.Write([]byte(p))
		_, _ = h.Write([]byte{0})
	}
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return int(x % uint64(n)) // #nosec G115 -- less than n
}

// kilometres returns the great-circle distance.
func kilometres(a, b Place) float64 {
	const radius, degree = 6371, math.Pi / 180
	dLat, dLon := (b.latitude-a.latitude)*degree, (b.longitude-a.longitude)*degree
	h := math.Pow(math.Sin(dLat/2), 2) +
		math.Cos(a.latitude*degree)*math.Cos(b.latitude*degree)*math.Pow(math.Sin(dLon/2), 2)
	return 2 * radius * math.Asin(math.Min(1, math.Sqrt(h)))
}
