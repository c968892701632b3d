package telemetry

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/otel/attribute"
)

// Confirmations are counted by name and outcome, in a bounded number of series.
func TestConfirmationsAreCounted(t *testing.T) {
	tel := newTelemetry(t, Options{})
	tel.Confirmation("pay", ConfirmationAsked)
	tel.Confirmation("pay", ConfirmationAsked)
	for i := range 2 * maxConfirmations {
		tel.Confirmation(fmt.Sprint(i), ConfirmationAccepted)
	}
	series, asked := 0, 0.0
	tel.confirmations.observe(func(n float64, attrs ...attribute.KeyValue) {
		if series++; attrs[0] == AttrRule.String("pay") && attrs[1] == AttrConfirmation.String(ConfirmationAsked) {
			asked = n
		}
	})
	if series != maxConfirmations || asked != 2 {
		t.Errorf("%d series, asked %v times", series, asked)
	}
	(*Telemetry)(nil).Confirmation("pay", ConfirmationAsked)
}
