package config

import "time"

// Outliers ejects an address of a backend for some time if its calls fail while those of other
// addresses succeed. Every field has a default: `outlier-detection: {}` enables it.
type Outliers struct {
	// Interval of the evaluation, which considers the calls since the last one; at least 1 s. 0: 10
	// s.
	Interval time.Duration `yaml:"interval"`
	// Ejection is how long an address is ejected the first time, at least 1 s. Each further time in
	// a row adds as much, up to ten times that. 0: 30 s.
	Ejection time.Duration `yaml:"ejection"`
	// Failures is the percentage of failed calls that makes an address an outlier, 1 to 100; 0: 85.
	Failures int `yaml:"failures"`
	// Calls is how many calls of an address in an interval the evaluation requires; 0: 50.
	Calls int `yaml:"calls"`
	// MaxEjected is the largest percentage of addresses that are ejected at the same time, 1 to
	// 100; one may always be. 0: 50.
	MaxEjected int `yaml:"max-ejected"`
}

// minOutlierTime is the least of Interval and Ejection.
const minOutlierTime = time.Second

// validateOutliers calls at for each mistake in the Outliers of a backend.
func (b *Backend) validateOutliers(at wrongs) {
	if b.Outliers == nil {
		return
	}
	wrong := func(key string, value any, advice string) { at("outlier-detection.%s: %v: %s", key, value, advice) }
	o := b.Outliers
	if o.Interval != 0 && o.Interval < minOutlierTime {
		wrong("interval", o.Interval, "give 1s or more, or leave it out for 10s")
	}
	if o.Ejection != 0 && o.Ejection < minOutlierTime {
		wrong("ejection", o.Ejection, "give 1s or more, or leave it out for 30s")
	}
	if o.Failures > 100 {
		wrong("failures", o.Failures, "give a percentage from 1 to 100, or leave it out for 85")
	}
	if o.MaxEjected > 100 {
		wrong("max-ejected", o.MaxEjected, "give a percentage from 1 to 100, or leave it out for 50")
	}
}
