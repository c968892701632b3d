package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

var ownershipAttacks = []attack{
	{name: "own-away", what: "a backend has what another had that is away", run: takeWhenStale},
	{name: "own-start", what: "the same at an edge that starts meanwhile, with the backends in their order and in another", run: takeAtStart},
	{name: "own-exact", what: "a backend lists a URI that a template of an earlier one matches", run: takeByExact},
	{name: "own-prefix", what: "a backend says that it serves a longer prefix of URIs than an earlier one", run: takeByPrefix},
	{name: "own-skill", what: "a backend has a skill below the prefix of an earlier one", run: takeBySkill},
	{name: "own-page", what: "a backend lists the page that a tool of an earlier one names", run: takeByPage},
	{name: "own-answer", what: "the answer of a user to a backend that is gone since", run: takeAnswer},
	{name: "own-hangs", what: "the lists of one backend for a caller hang, and others are called", run: hangLists},
}

func takeWhenStale(ctx context.Context, s *site) error {
	victim, thief := everything("victim"), everything("thief")
	defer victim.down()
	defer thief.down()
	thief.tools = append(thief.tools, &pb.Tool{Name: "bait"})
	victim.tools = append(victim.tools, &pb.Tool{Name: "victims"})
	c, err := s.contend(ctx, "own-away", "", nil, victim, thief)
	if err != nil {
		return err
	}
	defer c.end()
	for _, tool := range []string{"bait", "victims"} {
		if err := c.until(ctx, "tools/list", `"`+tool+`"`, true); err != nil {
			return err
		}
	}
	victim.down()
	if err := c.until(ctx, "tools/list", `"victims"`, false); err != nil {
		return err
	}
	if err := c.refused(ctx, thief); err != nil {
		return err
	}
	if err := victim.up(); err != nil {
		return err
	}
	if err := c.until(ctx, "tools/list", `"victims"`, true); err != nil {
		return err
	}
	a, err := c.call(ctx, "pay", "{}")
	if err == nil && !bytes.Contains(a.body, []byte("by victim")) {
		err = fmt.Errorf("the backend is back, and its tool is not: %.200s", a.body)
	}
	return err
}

func takeAtStart(ctx context.Context, s *site) error {
	redis, err := redisserver.Start()
	if err != nil {
		return err
	}
	defer redis.Close()
	victim, thief := everything("victim"), everything("thief")
	victim.tools = append(victim.tools, &pb.Tool{Name: "victims"})
	thief.tools = append(thief.tools, &pb.Tool{Name: "bait"})
	defer victim.down()
	defer thief.down()
	shared := []setting{{"redis.url", redis.URL()}}
	first, err := s.contend(ctx, "own-start-1", "", shared, victim, thief)
	if err != nil {
		return err
	}
	defer first.end()
	for _, tool := range []string{"bait", "victims"} {
		if err := first.until(ctx, "tools/list", `"`+tool+`"`, true); err != nil {
			return err
		}
	}
	pause(ctx, 2*time.Second) // in which what was seen is shared
	victim.down()
	for i, order := range [][]*holder{{victim, thief}, {thief, victim}} {
		c, err := s.contend(ctx, fmt.Sprintf("own-start-%d", i+2), "", shared, order...)
		if err != nil {
			return err
		}
		err = c.until(ctx, "tools/list", `"bait"`, true)
		if err == nil {
			err = c.refused(ctx, thief)
		}
		c.end()
		if err != nil {
			return fmt.Errorf("an edge that starts, %s first: %w", order[0].name, err)
		}
	}
	return nil
}

// takeURI has two backends, of which the second may not be read.
func (s *site) takeURI(ctx context.Context, name, uri string, victim, thief *holder) error {
	victim.name, thief.name = "victim", "thief"
	thief.tools = append(thief.tools, &pb.Tool{Name: "bait"})
	victim.tools = append(victim.tools, &pb.Tool{Name: "victims"})
	defer victim.down()
	defer thief.down()
	c, err := s.contend(ctx, name, "", nil, victim, thief)
	if err != nil {
		return err
	}
	defer c.end()
	for _, tool := range []string{"bait", "victims"} {
		if err := c.until(ctx, "tools/list", `"`+tool+`"`, true); err != nil {
			return err
		}
	}
	a, err := c.modern(ctx, "resources/read", uri, `,"uri":"`+uri+`"`)
	if err == nil && (thief.calls.Load() > 0 || !bytes.Contains(a.body, []byte("by victim"))) {
		err = fmt.Errorf("%s is read from another backend: %.200s", uri, a.body)
	}
	return err
}

func takeByExact(ctx context.Context, s *site) error {
	return s.takeURI(ctx, "own-exact", "doc://7",
		&holder{templates: []*pb.ResourceTemplate{{UriTemplate: "doc://{id}", Name: "doc"}}}, &holder{resources: []*pb.Resource{{Uri: "doc://7", Name: "seven"}}})
}

func takeByPrefix(ctx context.Context, s *site) error {
	return s.takeURI(ctx, "own-prefix", "file:///a/secret/1", &holder{prefixes: []string{"file:///a/"}}, &holder{prefixes: []string{"file:///a/secret/"}})
}

func takeBySkill(ctx context.Context, s *site) error {
	skill := &pb.Skill{Uri: "file:///a/s/SKILL.md", FrontmatterJson: `{"name":"s","description":"d"}`,
		Files: []*pb.SkillFile{{Uri: "file:///a/s/SKILL.md", Sha256: make([]byte, 32), Size: 1}}}
	return s.takeURI(ctx, "own-skill", "file:///a/s/data.txt", &holder{prefixes: []string{"file:///a/"}}, &holder{skills: []*pb.Skill{skill}})
}

func takeByPage(ctx context.Context, s *site) error {
	return s.takeURI(ctx, "own-page", "ui://victim/pay",
		&holder{tools: []*pb.Tool{{Name: "pay", MetaJson: `{"ui":{"resourceUri":"ui://victim/pay"}}`}}}, &holder{resources: []*pb.Resource{{Uri: "ui://victim/pay", Name: "page"}}})
}

func takeAnswer(ctx context.Context, s *site) error {
	victim, thief := everything("victim"), everything("thief")
	victim.asks = true
	victim.tools = append(victim.tools, &pb.Tool{Name: "victims"})
	defer victim.down()
	defer thief.down()
	c, err := s.contend(ctx, "own-answer", "", nil, victim, thief)
	if err != nil {
		return err
	}
	defer c.end()
	if err := c.until(ctx, "tools/list", `"victims"`, true); err != nil {
		return err
	}
	a, err := c.call(ctx, "pay", "{}")
	if err != nil {
		return err
	}
	var asked struct {
		Result struct {
			RequestState string `json:"requestState"`
		} `json:"result"`
	}
	if err := json.Unmarshal(a.body, &asked); err != nil || asked.Result.RequestState == "" {
		return fmt.Errorf("the user is asked nothing: %v: %.200s", err, a.body)
	}
	victim.down()
	if err := c.until(ctx, "tools/list", `"victims"`, false); err != nil {
		return err
	}
	a, err = c.modern(ctx, "tools/call", "pay", callMembers("pay", "{}")+`,"requestState":"`+asked.Result.RequestState+
		`","inputResponses":{"pin":{"action":"accept","content":{"pin":"4711"}}}`)
	if err == nil && (thief.pin.Load() || thief.calls.Load() > 0 || !bytes.Contains(a.body, []byte("-31502"))) {
		err = fmt.Errorf("the answer went to another backend: %t: %.200s", thief.pin.Load(), a.body)
	}
	return err
}

// listsWithin is how soon a call is answered that has nothing to do with the backend that hangs.
const listsWithin = 10 * time.Second

func hangLists(ctx context.Context, s *site) error {
	sum := sha256.Sum256([]byte("key-of-ann"))
	keys := filepath.Join(s.dir, "own-hangs-keys.yaml")
	if err := os.WriteFile(keys, []byte("- {name: ann, sha256: "+hex.EncodeToString(sum[:])+"}\n"), 0o600); err != nil {
		return err
	}
	hung, honest := everything("hung"), &holder{name: "honest", tools: []*pb.Tool{{Name: "mine"}}}
	hung.hangs = true
	defer hung.down()
	defer honest.down()
	c, err := s.contend(ctx, "own-hangs", fmt.Sprintf("auth: {api-keys: %q}\n", keys), nil, honest, hung)
	if err != nil {
		return err
	}
	defer c.end()
	c.authorization = func() string { return "Bearer key-of-ann" }
	for end := time.Now().Add(2 * slack); ; pause(ctx, 50*time.Millisecond) {
		began := time.Now()
		limited, cancel := context.WithTimeout(ctx, listsWithin)
		a, err := c.call(limited, "mine", "{}")
		cancel()
		if err != nil {
			return fmt.Errorf("a call of another backend is not answered within %v: %w", listsWithin, err)
		}
		if a.status == http.StatusOK && strings.Contains(string(a.body), "by honest") {
			s.note("answered after %.2f s", time.Since(began).Seconds())
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("status %d: %.200s", a.status, a.body)
		}
	}
}
