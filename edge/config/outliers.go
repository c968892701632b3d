package config

// Outliers ejects an address of a backend for some time if its calls fail while those of other
// addresses succeed: `outlier-detection: {}` enables it.
type Outliers struct {
	// Failures is the percentage of failed calls that makes an address an outlier, 1 to 100; 0: 85.
	Failures int `yaml:"failures"`
}

// validateOutliers calls at for each mistake in the Outliers of a backend.
func (b *Backend) validateOutliers(at wrongs) {
	if o := b.Outliers; o != nil && o.Failures > 100 {
		at("outlier-detection.failures: %v: give a percentage from 1 to 100, or leave it out for the default", o.Failures)
	}
}
