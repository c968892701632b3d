package app

import (
	"runtime/debug"
	"testing"
)

func TestBuild(t *testing.T) {
	settings := func(kv ...string) (out []debug.BuildSetting) {
		for i := 0; i < len(kv); i += 2 {
			out = append(out, debug.BuildSetting{Key: kv[i], Value: kv[i+1]})
		}
		return out
	}
	const hash = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		name                  string
		recorded              string
		settings              []debug.BuildSetting
		version, commit, date string
		want                  Build
	}{
		{"a clone", "v0.0.0-20261123051322-0123456789ab", settings("vcs.revision", hash, "vcs.time", "2026-11-23T05:13:22Z", "vcs.modified", "false"), "", "", "",
			Build{"v0.0.0-20261123051322-0123456789ab", hash, "2026-11-23T05:13:22Z"}},
		{"a clone with changes", "v0.1.0+dirty", settings("vcs.revision", hash, "vcs.time", "2026-11-23T05:13:22Z", "vcs.modified", "true"), "", "", "",
			Build{"v0.1.0+dirty", hash + "-dirty", "2026-11-23T05:13:22Z"}},
		{"go install of a tag", "v0.1.0", nil, "", "", "", Build{"v0.1.0", "unknown", "unknown"}},
		{"go install of a commit", "v0.1.1-0.20261123051322-0123456789ab", nil, "", "", "",
			Build{"v0.1.1-0.20261123051322-0123456789ab", "0123456789ab", "2026-11-23T05:13:22Z"}},
		{"an image", "(devel)", nil, "v0.1.0", hash, "2026-11-23T06:13:22+01:00", Build{"v0.1.0", hash, "2026-11-23T05:13:22Z"}},
		{"an image without arguments", "(devel)", nil, "", "", "", Build{"devel", "unknown", "unknown"}},
		{"nothing recorded", "", nil, "", "", "", Build{"devel", "unknown", "unknown"}},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.recorded}, Settings: c.settings}
		if got := buildOf(info, c.version, c.commit, c.date); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
