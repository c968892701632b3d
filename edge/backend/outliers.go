package backend

import (
	"encoding/json"
	"fmt"
	"time"

	_ "google.golang.org/grpc/xds" // the balancer outlier_detection_experimental
)

// Outliers says when an address of a target gets no calls for a while, because those before it failed there (gRPC's
// outlier detection by failure percentage, proposal A50). A zero field is its default. What counts as failed is every RPC
// that ends with a gRPC status but OK: a Failure in the contract's messages does not.
type Outliers struct {
	// Interval is how often the addresses are judged, by the calls since the last time; 0: 10 s.
	Interval time.Duration
	// Ejection is how long an address gets no calls the first time; each time in a row it is longer by as much, up to ten
	// times that; 0: 30 s.
	Ejection time.Duration
	// Failures is the percentage of failed calls from which on an address is an outlier; 0: 85.
	Failures int
	// Calls is how many calls an address must have had in an interval to be judged; 0: 50.
	Calls int
	// MaxEjected is the largest percentage of the addresses that get no calls at a time, of which one always may; 0: 50.
	MaxEjected int
}

// Defaults of Outliers.
const (
	DefaultOutlierInterval   = 10 * time.Second
	DefaultOutlierEjection   = 30 * time.Second
	DefaultOutlierFailures   = 85
	DefaultOutlierCalls      = 50
	DefaultOutlierMaxEjected = 50
)

// balancerConfig is what a service config says of a balancer: its configuration by its name.
type balancerConfig map[string]any

// serviceConfig balances over all addresses of the target, and leaves out those whose standard health service says that
// they do not serve, and the outliers. An address without a health service counts as healthy. service is the name that
// is asked about, or HealthOff.
func serviceConfig(o *Outliers, service string) string {
	policy := balancerConfig{"round_robin": struct{}{}}
	if o != nil {
		policy = o.around(policy)
	}
	if service != HealthOff {
		policy = balancerConfig{healthPolicy: map[string]any{"service": service, "child": []balancerConfig{policy}}}
	}
	text, err := json.Marshal(map[string]any{"loadBalancingConfig": []balancerConfig{policy}})
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(text)
}

// around is the balancer that hides outliers from another.
func (o *Outliers) around(child balancerConfig) balancerConfig {
	interval, ejection := positive(o.Interval, DefaultOutlierInterval), positive(o.Ejection, DefaultOutlierEjection)
	return balancerConfig{"outlier_detection_experimental": map[string]any{
		"interval":           seconds(interval),
		"baseEjectionTime":   seconds(ejection),
		"maxEjectionTime":    seconds(10 * ejection),
		"maxEjectionPercent": positive(o.MaxEjected, DefaultOutlierMaxEjected),
		"failurePercentageEjection": map[string]any{
			"threshold":             positive(o.Failures, DefaultOutlierFailures),
			"requestVolume":         positive(o.Calls, DefaultOutlierCalls),
			"minimumHosts":          2,
			"enforcementPercentage": 100,
		},
		"childPolicy": []balancerConfig{child},
	}}
}

// seconds is a duration in the JSON form of protobuf's Duration.
func seconds(d time.Duration) string { return fmt.Sprintf("%.9fs", d.Seconds()) }

// positive is v, or def when v is 0.
func positive[T int | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}
