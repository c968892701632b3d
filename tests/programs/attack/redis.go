package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

var redisAttacks = []attack{
	{name: "redis-dead", what: "Redis dies for a while, and strangers ask for sessions all the time", redis: true, run: deadRedis},
}

// deadRedis: plain calls go on, of sessions too; what needs Redis is refused for now, at once.
func deadRedis(ctx context.Context, s *site) error {
	s.redis.Kill()
	var statuses refusals
	end := time.Now().Add(s.o.duration / 2)
	err := together(4, 4, func(int) error {
		r := s.rogue()
		defer r.close()
		for time.Now().Before(end) {
			limited, cancel := context.WithTimeout(ctx, checkWithin)
			a, err := r.initialize(limited, `{"name":"flood","version":"1"}`)
			cancel()
			if err != nil {
				return err
			}
			statuses.add(a.status)
			if a.status != http.StatusServiceUnavailable && a.status != http.StatusTooManyRequests {
				return fmt.Errorf("a session without Redis: status %d: %.200s", a.status, a.body)
			}
		}
		return nil
	})
	s.note("answers %s", &statuses)
	if restarted := s.redis.Restart(); restarted != nil {
		return restarted
	}
	if err != nil {
		return err
	}
	r := s.rogue()
	defer r.close()
	for end := time.Now().Add(slack); ; pause(ctx, 100*time.Millisecond) {
		id, err := r.hello(ctx, `{"name":"after","version":"1"}`)
		if err == nil {
			_, err = r.send(ctx, http.MethodDelete, "", sessionHeader(id)...)
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("no session %s after Redis came back: %w", slack, err)
		}
	}
}
