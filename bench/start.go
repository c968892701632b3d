package main

import (
	"os"
	"path/filepath"
	"time"
)

const (
	mostStart = 150 // milliseconds
	mostSize  = 40  // MiB
)

// startCases are about the program itself.
func startCases() []benchCase {
	return []benchCase{
		{name: "start-to-ready", rounds: shown, cold: true, start: starting, claims: []claim{figureOf(ready, "20-backends").atMost(mostStart)}},
		// Sizes do not differ between rounds: two make an interval.
		{name: "binary", rounds: 2, cold: true, start: binaries, claims: []claim{
			figureOf(size, "released").atMost(mostSize), figureOf(size, "plain").atMost(mostSize)}},
	}
}

// starting is the time from exec to the first 200 of /readyz, with 20 backends that are up.
func starting(f *fleet) ([]subject, error) {
	backends, err := f.service("--backends", manyBackends, "--tools", "100")
	if err != nil {
		return nil, err
	}
	return []subject{{name: "20-backends", round: func(time.Duration) (sample, error) {
		begun := time.Now()
		p, err := f.begin(nil, backends...)
		if err != nil {
			return sample{}, err
		}
		defer f.end(p)
		err = p.awaitReady(time.Millisecond)
		return sample{values: map[metric]float64{ready: millis(time.Since(begun))}}, err
	}}}, nil
}

// binaries are the sizes of the edge's program, without what debuggers need, and as `go build` makes it.
func binaries(f *fleet) ([]subject, error) {
	if err := f.buildReleased(); err != nil {
		return nil, err
	}
	sized := func(name, file string) subject {
		return subject{name: name, round: func(time.Duration) (sample, error) {
			info, err := os.Stat(filepath.Join(f.dir, file))
			if err != nil {
				return sample{}, err
			}
			return sample{values: map[metric]float64{size: float64(info.Size()) / (1 << 20)}}, nil
		}}
	}
	return []subject{sized("released", released), sized("plain", "edge")}, nil
}
