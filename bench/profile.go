package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// profileTime is how long a CPU profile is taken, in seconds.
const profileTime = 20

// profile writes the CPU profile of each subject's process, where it has one, as DIR/<case>-<subject>.pprof.
// It is taken in rounds of its own, after those that count.
func profile(dir, name string, subjects []subject, slice time.Duration) error {
	for _, s := range subjects {
		if s.proc == nil || s.proc.admin == "" {
			continue
		}
		done := make(chan error, 1)
		go func() { done <- s.proc.profile(filepath.Join(dir, name+"-"+s.name+".pprof")) }()
		for profiled := false; !profiled; {
			_, err := s.round(slice)
			if err != nil {
				<-done
				return fmt.Errorf("%s: %w", s.name, err)
			}
			select {
			case err := <-done:
				if err != nil {
					return fmt.Errorf("%s: %w", s.name, err)
				}
				profiled = true
			default:
			}
		}
	}
	return nil
}

// profile takes the profile, from now on.
func (p *process) profile(file string) error {
	resp, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", p.admin, profileTime))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the CPU profile: %s: %s", resp.Status, data)
	}
	return os.WriteFile(file, data, 0o644)
}
