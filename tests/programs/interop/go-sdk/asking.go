package main

import (
	"context"
	"errors"
	"strings"
)

func (v *visit) elicitation(ctx context.Context) error {
	_, text, err := v.call(ctx, "book_trip", map[string]any{"destination": "Lisbon", "nights": 2})
	if err != nil {
		return err
	}
	if err := contains("text", text, "Booked 2 nights in Lisbon: seat aisle, suite room, with insurance."); err != nil {
		return err
	}
	for _, want := range []string{"How would you like to travel?", "Book 2 nights in Lisbon"} {
		got, err := next(ctx, "question", v.asked)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(got, want) {
			return equal("question", got, want)
		}
	}
	return nil
}

func (v *visit) sampling(ctx context.Context) error {
	_, text, err := v.call(ctx, "recommend_flight", map[string]any{"origin": "Zurich", "destination": "Barcelona"})
	if err != nil {
		return err
	}
	return errors.Join(contains("text", text, "Take the first."), contains("text", text, "interop-model"))
}

func (v *visit) roots(ctx context.Context) error {
	_, text, err := v.call(ctx, "list_workspace", nil)
	if err != nil {
		return err
	}
	return contains("text", text, "file:///project/a (A)")
}
