package telemetry

import (
	"fmt"
	"maps"
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

// The counters of how a wait for an approval ends begin at 0 with the wait: the first that expires is an increase.
func TestEndsOfApprovalsBeginAtZero(t *testing.T) {
	tel := newTelemetry(t, Options{})
	tel.Confirmation("pay", ApprovalExpired)
	tel.Confirmation("pay", ApprovalRequested)
	got := map[string]float64{}
	tel.confirmations.observe(func(n float64, attrs ...attribute.KeyValue) { got[attrs[1].Value.AsString()] = n })
	want := map[string]float64{ApprovalRequested: 1, ApprovalGranted: 0, ApprovalRefused: 0, ApprovalExpired: 1, ApprovalRevoked: 0}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}
