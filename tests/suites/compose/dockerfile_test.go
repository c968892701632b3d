package compose

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"
)

// dockerfile is what the tests know of one; it has no more than the instructions used there.
type dockerfile struct {
	stages []*stage
	builds []build
	env    []string // of the build, without what depends on the platform
}

type stage struct {
	name, from string   // from is an image, also of a stage that is made from another
	copied     []string // from the build's output
	entrypoint []string
	user       string
}

// build is one "go build".
type build struct {
	args     []string // up to the output
	output   string   // a file, or a directory if it ends in "/"
	packages []string
}

func parseDockerfile(t *testing.T, text string) *dockerfile {
	t.Helper()
	d := &dockerfile{}
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		instruction, args := words[0], words[1:]
		for len(args) > 0 && strings.HasPrefix(args[0], "--") && !strings.HasPrefix(args[0], "--from=") {
			args = args[1:]
		}
		switch instruction {
		case "FROM":
			from := args[0]
			if s := d.stage(from); s != nil {
				from = s.from
			}
			d.stages = append(d.stages, &stage{from: from, name: args[2]})
		case "ENV":
			for _, v := range args {
				if !strings.Contains(v, "$") && strings.Contains(v, "CGO") {
					d.env = append(d.env, v)
				}
			}
		case "RUN":
			d.run(args)
		case "COPY":
			if args[0] == "--from=build" && args[2] == "/usr/local/bin/" {
				s := d.stages[len(d.stages)-1]
				s.copied = append(s.copied, args[1])
			}
		case "ENTRYPOINT":
			if err := json.Unmarshal([]byte(strings.Join(args, " ")), &d.stages[len(d.stages)-1].entrypoint); err != nil {
				t.Fatalf("%s: write it as a JSON list, there is no shell: %v", line, err)
			}
		case "USER":
			d.stages[len(d.stages)-1].user = args[0]
		}
	}
	return d
}

func (d *dockerfile) run(args []string) {
	for command := range strings.SplitSeq(strings.Join(args, " "), "&&") {
		words := strings.Fields(command)
		if len(words) < 2 || words[0] != "go" || words[1] != "build" {
			continue
		}
		if i := slices.Index(words, "-o"); i > 0 {
			d.builds = append(d.builds, build{args: words[1:i], output: words[i+1], packages: words[i+2:]})
		}
	}
}

// stage returns the stage of that name, nil if there is none.
func (d *dockerfile) stage(name string) *stage {
	for _, s := range d.stages {
		if s.name == name {
			return s
		}
	}
	return nil
}

// programs are the names of the programs in a stage.
func (d *dockerfile) programs(s *stage) (names []string) {
	for _, b := range d.builds {
		outputs := []string{b.output}
		if strings.HasSuffix(b.output, "/") {
			outputs = nil
			for _, p := range b.packages {
				outputs = append(outputs, b.output+path.Base(p))
			}
		}
		for _, o := range outputs {
			if slices.ContainsFunc(s.copied, func(c string) bool { return c == o || c == path.Dir(o)+"/" }) {
				names = append(names, path.Base(o))
			}
		}
	}
	return names
}
