package app

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
)

// The error of an option that go-redis refuses names the option where it is known, and no value.
func TestRedisOptionErrorsShowNoValues(t *testing.T) {
	for url, want := range map[string]string{
		"redis://h:1?dial_timeout=hunter2":                             "invalid dial_timeout duration",
		"redis://h:1?pool_size=hunter2":                                "invalid pool_size number",
		"redis://h:1?db=hunter2":                                       "invalid database number",
		"redis://h:1?pool_fifo=hunter2":                                "invalid pool_fifo boolean",
		"redis://h:1?hunter2=1":                                        "unexpected option",
		"redis+cluster://h:1?addr=hunter2":                             "unable to parse addr",
		"redis+cluster://h:1?x&hunter2":                                "unexpected option",
		"redis+sentinel://h:1?master_name=m&addr=hunter2":              "unable to parse addr",
		"redis+sentinel://h:1?master_name=m&password=a&hunter2":        "unexpected option",
		"redis+sentinel://h:1?master_name=m&max_retries=hunter2":       "invalid max_retries number",
		"redis+sentinel://h:1?master_name=m&sentinel_password=hunter2": "unexpected option",
	} {
		_, err := openRedis(config.Config{Redis: config.Redis{URL: url}}, slog.New(slog.DiscardHandler), nil)
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), want+": its query takes") {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
}
