package main

import "fmt"

// ticking is a call with 20 progress events.
func ticking(more string) work {
	w := tool("tick", `{"events":20`+more+`}`, "ticked")
	w.meta, w.events = `"progressToken":"p"`, 20
	return w
}

// eventCases are calls with 20 progress events: as fast as they come, and at a pace at which nothing
// waits. In the modern era nothing is kept of them, neither by the edge nor by the SDK.
func eventCases() []benchCase {
	legacyCase := func(name, more string, withSDK bool, claims ...claim) benchCase {
		return benchCase{name: name, rounds: shown, claims: claims, start: func(f *fleet) ([]subject, error) {
			servers, err := f.memoryAndRedis()
			if err == nil && withSDK {
				var sdk *process
				sdk, err = f.serving("sdk", "--events")
				servers = append(servers, server{"sdk", sdk})
			}
			if err != nil {
				return nil, err
			}
			return speaking(legacy, ticking(more), 8, servers...)
		}}
	}
	later := func(m metric) claim { return claim{metric: m, of: "redis", over: "edge", minus: true} }
	return []benchCase{
		legacyCase("events-8", "", true, ratio(callRate, "edge", "sdk").atLeast(1.5), ratio(callRate, "redis", "edge").atLeast(0.6),
			later(eventP50), later(eventP99)).nearItsBound(),
		legacyCase("paced-events-8", `,"pauseMillis":2`, false, ratio(callRate, "redis", "edge"), later(eventP50), later(eventP99)),
		{name: "modern-events-8", rounds: some, claims: []claim{ratio(callRate, "edge", "sdk")}, start: func(f *fleet) ([]subject, error) {
			servers, _, err := f.edgeAndSDK("--events", "--stateless")
			if err != nil {
				return nil, err
			}
			return speaking(modern, ticking(""), 8, servers...)
		}},
	}
}

// memoryAndRedis are two edges of one service: with their state in memory, and in Redis.
func (f *fleet) memoryAndRedis() ([]server, error) {
	backends, err := f.service()
	if err != nil {
		return nil, err
	}
	memory, err := f.edge(backends...)
	if err != nil {
		return nil, err
	}
	url, err := f.redisServer()
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	redis, err := f.edge(append(backends, "--redis", url)...)
	return []server{{"edge", memory}, {"redis", redis}}, err
}
