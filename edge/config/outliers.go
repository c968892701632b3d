package config

import (
	"fmt"
	"time"
)

// Outliers says when an address of a backend gets no calls for a while, because calls fail there and not elsewhere. Every
// field has a default: `outlier-detection: {}` switches it on.
type Outliers struct {
	// Interval is how often the addresses are judged, by the calls since the last time, 1 s or more; 0: 10 s.
	Interval time.Duration `yaml:"interval"`
	// Ejection is how long an address gets no calls the first time, 1 s or more; each time in a row it is longer by as
	// much, up to ten times that; 0: 30 s.
	Ejection time.Duration `yaml:"ejection"`
	// Failures is the percentage of failed calls from which on an address is an outlier, 1 to 100; 0: 85.
	Failures int `yaml:"failures"`
	// Calls is how many calls an address must have had in an interval to be judged; 0: 50.
	Calls int `yaml:"calls"`
	// MaxEjected is the largest percentage of the addresses that get no calls at a time, of which one always may, 1 to
	// 100; 0: 50.
	MaxEjected int `yaml:"max-ejected"`
}

// minOutlierTime is the least of Interval and Ejection.
const minOutlierTime = time.Second

func (b *Backend) validateOutliers(i int) (errs []error) {
	if b.Outliers == nil {
		return nil
	}
	wrong := func(key string, value any, advice string) {
		errs = append(errs, fmt.Errorf("backends[%d] %s: outlier-detection.%s: %v: %s", i, b.Name, key, value, advice))
	}
	o := b.Outliers
	if o.Interval != 0 && o.Interval < minOutlierTime {
		wrong("interval", o.Interval, "give 1s or more, or leave it out for 10s")
	}
	if o.Ejection != 0 && o.Ejection < minOutlierTime {
		wrong("ejection", o.Ejection, "give 1s or more, or leave it out for 30s")
	}
	if o.Failures < 0 || o.Failures > 100 {
		wrong("failures", o.Failures, "give a percentage from 1 to 100, or leave it out for 85")
	}
	if o.Calls < 0 {
		wrong("calls", o.Calls, "give a positive number, or leave it out for 50")
	}
	if o.MaxEjected < 0 || o.MaxEjected > 100 {
		wrong("max-ejected", o.MaxEjected, "give a percentage from 1 to 100, or leave it out for 50")
	}
	return errs
}
