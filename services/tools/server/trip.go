package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/services/internal/sample"
)

type tripRequest struct {
	Destination string `json:"destination" title:"Where to" minLength:"1" maxLength:"80" description:"City or airport code" examples:"Barcelona,Lisbon"`
	Date        string `json:"date,omitempty" title:"Departure" format:"date" description:"YYYY-MM-DD"`
	Nights      int    `json:"nights" title:"Nights" default:"3" minimum:"1" maximum:"60"`
}

// tripWishes is the first form.
type tripWishes struct {
	Seat      string `json:"seat" title:"Seat" enum:"window,aisle,no preference" default:"no preference" required:"true"`
	Room      string `json:"room" title:"Room" enum:"single,double,suite" default:"double" required:"true" description:"Type of the hotel room"`
	Insurance bool   `json:"insurance" title:"Travel insurance" default:"false" required:"true"`
}

// tripConsent is the second form.
type tripConsent struct {
	Confirm bool `json:"confirm" title:"Book this trip" required:"true"`
}

type tripResult struct {
	Status  string      `json:"status" enum:"booked,declined,cancelled" description:"What came of it"`
	Booking int64       `json:"bookingNumber,omitempty" description:"Counts the bookings this service has made, from 1"`
	Trip    string      `json:"trip" description:"What was asked for"`
	Wishes  *tripWishes `json:"wishes,omitempty"`
	Note    string      `json:"note" description:"What this data is"`
}

func addTrip(s *capability.Server, t *service) {
	capability.AddTool(s, "book_trip",
		"Books a made-up trip: asks the user for seat, room and insurance, then for a confirmation. Every call that is confirmed books once more.",
		t.bookTrip, capability.Title("Book a trip"), capability.Destructive(false), capability.OpenWorld(false),
		capability.OutputType[tripResult]())
}

func (t *service) bookTrip(_ context.Context, c *capability.Call, in tripRequest) (*capability.Result, error) {
	place, ok := sample.Find(in.Destination)
	if !ok {
		return nil, fmt.Errorf("destination %.80q is not known; known places: %s", in.Destination, sample.KnownPlaces())
	}
	if in.Nights < 1 || in.Nights > 60 {
		return nil, fmt.Errorf("nights: %d is not from 1 to 60", in.Nights)
	}
	trip := fmt.Sprintf("%d nights in %s", in.Nights, place.City)
	if in.Date != "" {
		if _, err := sample.ParseDate(in.Date); err != nil {
			return nil, err
		}
		trip += " from " + in.Date
	}
	wishes, err := capability.Ask[tripWishes](c, "preferences", "How would you like to travel? "+trip+".")
	if err != nil {
		return notBooked(trip, err)
	}
	consent, err := capability.Ask[tripConsent](c, "confirmation", fmt.Sprintf("Book %s: seat %s, %s room, %s?",
		trip, wishes.Seat, wishes.Room, insured(wishes.Insurance)))
	if err == nil && !consent.Confirm {
		err = capability.ErrDeclined
	}
	if err != nil {
		return notBooked(trip, err)
	}
	number := t.bookings.Add(1)
	return tripOutcome(tripResult{Status: "booked", Booking: number, Trip: trip, Wishes: &wishes},
		fmt.Sprintf("Booked %s: seat %s, %s room, %s. Booking number %d.", trip, wishes.Seat, wishes.Room, insured(wishes.Insurance), number)), nil
}

// notBooked returns the result if the user declined or cancelled. It returns other errors
// unchanged.
func notBooked(trip string, err error) (*capability.Result, error) {
	switch {
	case errors.Is(err, capability.ErrDeclined):
		return tripOutcome(tripResult{Status: "declined", Trip: trip}, "The user declined. Nothing was booked."), nil
	case errors.Is(err, capability.ErrDismissed):
		return tripOutcome(tripResult{Status: "cancelled", Trip: trip}, "The user cancelled. Nothing was booked."), nil
	}
	return nil, err
}

func tripOutcome(r tripResult, text string) *capability.Result {
	r.Note = sample.Notice
	return &capability.Result{Content: []*capability.Content{capability.Text(text)}, Structured: r}
}

func insured(yes bool) string {
	if yes {
		return "with insurance"
	}
	return "without insurance"
}
