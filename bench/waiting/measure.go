package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// measure makes the tasks and prints what is found.
func (s *stage) measure(ctx context.Context, o options) error {
	before, err := s.look(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	ids := make([]string, o.tasks)
	if err := all(o.tasks, func(i int) (err error) {
		ids[i], err = s.create(ctx, s.edges[i%2], "ask")
		return err
	}); err != nil {
		return err
	}
	took := time.Since(began)
	if err := all(o.tasks, func(i int) error { return s.awaitAsked(ctx, s.edges[i%2], ids[i]) }); err != nil {
		return err
	}
	after, err := s.look(ctx)
	if err != nil {
		return err
	}
	n := float64(o.tasks)
	fmt.Printf("%d tasks that wait, made at %.0f/s\n", o.tasks, n/took.Seconds())
	fmt.Printf("%8.0f bytes of Redis each, in %.1f keys\n", float64(after.bytes-before.bytes)/n, float64(after.keys-before.keys)/n)
	fmt.Printf("%8.0f bytes of the two replicas' resident memory each\n", float64(after.resident-before.resident)/n)

	if err := s.busy(ctx, o, "while nobody asks", func(context.Context) (int, error) { return 0, nil }); err != nil {
		return err
	}
	if err := s.busy(ctx, o, fmt.Sprintf("while %d are asked for every %s", o.polled, o.interval), func(until context.Context) (int, error) {
		return s.poll(until, ids[:o.polled], o.interval)
	}); err != nil {
		return err
	}
	return s.lose(ctx)
}

// lose kills the replica that runs a task, and prints how long it takes until the other one runs it.
func (s *stage) lose(ctx context.Context) error {
	if _, err := s.create(ctx, s.edges[0], "work"); err != nil {
		return err
	}
	by := <-s.runs
	if by != s.edges[0].Name() {
		return fmt.Errorf("the task runs at %s, not where it was made", by)
	}
	began := time.Now()
	if err := s.edges[0].Kill(); err != nil {
		return err
	}
	select {
	case <-s.runs:
		fmt.Printf("%8.1f s from the loss of a replica until the other one runs its task\n", time.Since(began).Seconds())
		return s.edges[0].Start() // which is ended as the other one
	case <-time.After(time.Minute):
		return errors.New("the lost task was not found in a minute")
	}
}

// seen is how much there is.
type seen struct {
	bytes, keys, resident int64
	cpu                   float64            // seconds of Redis
	calls                 map[string]float64 // of each of its commands
}

func (s *stage) look(ctx context.Context) (out seen, err error) {
	info, err := s.db.Info(ctx, "memory", "cpu", "commandstats").Result()
	if err != nil {
		return out, err
	}
	out.calls = map[string]float64{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if command, ok := strings.CutPrefix(name, "cmdstat_"); ok {
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			out.calls[command], _ = strconv.ParseFloat(calls, 64)
			continue
		}
		number, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "used_memory":
			out.bytes = int64(number)
		case "used_cpu_sys", "used_cpu_user":
			out.cpu += number
		}
	}
	if out.keys, err = s.db.DBSize(ctx).Result(); err != nil {
		return out, err
	}
	for _, e := range s.edges {
		n, err := s.resident(ctx, e)
		if err != nil {
			return out, err
		}
		out.resident += n
	}
	return out, nil
}

// resident is the resident memory of a replica, by its own metric of it.
func (s *stage) resident(ctx context.Context, e *replicas.Edge) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.Admin+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "process_resident_memory_bytes "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return int64(n), err
		}
	}
	return 0, errors.Join(err, errors.New("the replica does not say its resident memory"))
}

// busy prints how busy Redis's core is during a period.
func (s *stage) busy(ctx context.Context, o options, when string, do func(context.Context) (int, error)) error {
	before, err := s.look(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	until, cancel := context.WithTimeout(ctx, o.period)
	defer cancel()
	asked, err := do(until)
	if err != nil {
		return err
	}
	<-until.Done()
	took := time.Since(began).Seconds()
	after, err := s.look(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%8.1f %% of a core is what Redis takes %s", 100*(after.cpu-before.cpu)/took, when)
	if asked > 0 {
		fmt.Printf(" (%.0f/s)", float64(asked)/took)
	}
	fmt.Println(busiest(before.calls, after.calls, took))
	return nil
}

// busiest are the commands that Redis ran most often, with how often a second.
func busiest(before, after map[string]float64, seconds float64) string {
	names := slices.SortedFunc(maps.Keys(after), func(a, b string) int {
		return cmp.Compare(after[b]-before[b], after[a]-before[a])
	})
	var out []string
	for _, name := range names[:min(5, len(names))] {
		out = append(out, fmt.Sprintf("%s %.0f/s", name, (after[name]-before[name])/seconds))
	}
	return ": " + strings.Join(out, ", ")
}
