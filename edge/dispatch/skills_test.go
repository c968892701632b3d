package dispatch

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func (f *fake) ListSkills(context.Context, *pb.ListSkillsRequest) (*pb.ListSkillsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.skills == nil {
		return nil, status.Error(codes.Unimplemented, "no skills")
	}
	return &pb.ListSkillsResponse{Skills: f.skills, Cache: f.cache}, nil
}

func (f *fake) GetSkill(_ context.Context, req *pb.GetSkillRequest) (*pb.GetSkillResponse, error) {
	for _, s := range f.skills {
		if s.Uri == req.GetUri() {
			return &pb.GetSkillResponse{Skill: s, Cache: f.cache}, nil
		}
	}
	return nil, status.Error(codes.NotFound, "none of "+f.name)
}

func (f *fake) ListResourceDirectory(_ context.Context, req *pb.ListResourceDirectoryRequest) (*pb.ListResourceDirectoryResponse, error) {
	for _, s := range f.skills {
		if root := strings.TrimSuffix(s.Uri, catalog.SkillFile); root == req.GetUri() {
			return &pb.ListResourceDirectoryResponse{NextPageToken: "after " + req.GetPageToken(), Resources: append([]*pb.Resource{
				{Uri: s.Uri, Name: "SKILL.md"}, {Uri: root + "/sub", Name: "sub", MimeType: catalog.DirectoryType},
			}, f.children...)}, nil
		}
	}
	return nil, status.Error(codes.NotFound, "no directory")
}

// skilled returns a backend with skills.
func skilled(name string, directories bool, uris ...string) *fake {
	f := &fake{name: name, skills: []*pb.Skill{}, describe: &pb.DescribeResponse{Resources: &pb.ResourceFeatures{Directories: directories}}}
	for _, uri := range uris {
		root := strings.TrimSuffix(uri, catalog.SkillFile)
		f.skills = append(f.skills, &pb.Skill{
			Uri: uri, FrontmatterJson: `{"name":"` + root[strings.LastIndexByte(root, '/')+1:] + `","description":"of ` + name + `"}`,
			Files: []*pb.SkillFile{{Uri: uri, Sha256: make([]byte, 32), Size: 7}},
		})
	}
	return f
}

func ask(t *testing.T, d *Dispatch, method mcp.Method, params string) string {
	t.Helper()
	reply, err := d.Call(t.Context(), rules(t, modern), request(t, method, params), nil)
	if err != nil {
		return mcp.AsError(err).Message
	}
	return string(reply.Result)
}

func TestSkillsOfSeveralBackends(t *testing.T) {
	a := skilled("a", true, "skill://one/SKILL.md", "skill://both/SKILL.md")
	b := skilled("b", true, "skill://both/SKILL.md", "skill://team/two/SKILL.md", "skill://taken/SKILL.md")
	// c has the whole scheme and no skills, and is last. A URI of a skill still belongs to the
	// skill's backend.
	c := &fake{name: "c", resources: []*pb.Resource{{Uri: "skill://taken/SKILL.md", Name: "r"}},
		describe: &pb.DescribeResponse{Resources: &pb.ResourceFeatures{UriPrefixes: []string{"skill://"}}}}
	d := start(t, Options{}, a, b, c)
	zero := strings.Repeat("00", 32)
	entry := func(uri, name, owner string) string {
		return `{"uri":"` + uri + `","frontmatter":{"name":"` + name + `","description":"of ` + owner + `"},"resources":[{"uri":"` + uri +
			`","digest":"sha256:` + zero + `","size":7}]}`
	}
	want := `{"skills":[` + entry("skill://one/SKILL.md", "one", "a") + `,` + entry("skill://both/SKILL.md", "both", "a") + `,` +
		entry("skill://team/two/SKILL.md", "two", "b") + `,` + entry("skill://taken/SKILL.md", "taken", "b") + `],"ttlMs":0,"cacheScope":"private","resultType":"complete"`
	if got := ask(t, d, mcp.MethodSkillsList, `{}`); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, want := range []catalog.Conflict{{What: "skill", Key: "skill://both/SKILL.md", Kept: "a", Dropped: "b"}, {What: "resource", Key: "skill://taken/SKILL.md", Kept: "b", Dropped: "c"}} {
		if !slices.Contains(d.Catalog().Conflicts(), want) {
			t.Errorf("%v is missing: %v", want, d.Catalog().Conflicts())
		}
	}
	want = `{"skill":` + entry("skill://team/two/SKILL.md", "two", "b") + `,"ttlMs":0,"cacheScope":"private","resultType":"complete"`
	if got := ask(t, d, mcp.MethodSkillsGet, `{"uri":"skill://team/two/SKILL.md"}`); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := ask(t, d, mcp.MethodDirectoryRead, `{"uri":"skill://team/two"}`); !strings.HasPrefix(got,
		`{"resources":[{"uri":"skill://team/two/SKILL.md","name":"SKILL.md"},{"uri":"skill://team/two/sub","name":"sub","mimeType":"inode/directory"}],"nextCursor":"`) || !strings.Contains(got, `","resultType":"complete"`) {
		t.Errorf("got %s", got)
	}
	for _, r := range revision.All() {
		got := string(d.catalog.Describe(t.Context(), r, "", mcp.Principal{}).Capabilities)
		if strings.Contains(got, `"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true}}`) != r.Stateless || strings.Contains(got, "skills") != r.Stateless {
			t.Errorf("%s: %s", r.Version, got)
		}
		if r.Stateless {
			continue
		}
		for _, m := range []mcp.Method{mcp.MethodSkillsList, mcp.MethodSkillsGet, mcp.MethodDirectoryRead} {
			if _, err := d.Call(t.Context(), r, request(t, m, `{"uri":"skill://one/SKILL.md"}`), nil); err == nil || mcp.AsError(err).Kind != mcp.KindMethodNotFound {
				t.Errorf("%s of %s: %v", m, r.Version, err)
			}
		}
	}
}

// A skill with a file of another backend is neither listed nor returned, whether the other backend
// lists the file or matches it by a template.
func TestSkillsWithForeignFiles(t *testing.T) {
	for name, first := range map[string]*fake{
		"a resource": {name: "a", resources: []*pb.Resource{{Uri: "skill://one/docs/guide", Name: "guide"}}},
		"a prefix":   {name: "a", describe: &pb.DescribeResponse{Resources: &pb.ResourceFeatures{UriPrefixes: []string{"skill://one/docs/"}}}},
		"a template": {name: "a", templates: []*pb.ResourceTemplate{{UriTemplate: "skill://one/docs/{name}", Name: "doc"}}},
	} {
		b := skilled("b", true, "skill://one/SKILL.md", "skill://two/SKILL.md")
		b.skills[0].Files = append(b.skills[0].Files, &pb.SkillFile{Uri: "skill://one/docs/guide", Sha256: make([]byte, 32), Size: 7})
		d := start(t, Options{}, first, b)
		if got := ask(t, d, mcp.MethodSkillsList, `{}`); strings.Contains(got, "skill://one") || !strings.Contains(got, "skill://two") {
			t.Fatalf("%s: listed %s", name, got)
		}
		_, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodSkillsGet, `{"uri":"skill://one/SKILL.md"}`), nil)
		if kindOf(t, err) != mcp.KindResourceNotFound {
			t.Errorf("%s: got a skill that is not listed: %v", name, err)
		}
		if got := ask(t, d, mcp.MethodSkillsGet, `{"uri":"skill://two/SKILL.md"}`); !strings.HasPrefix(got, `{"skill":`) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Directories are announced and readable only if all backends with skills have them.
func TestSkillsWithoutDirectories(t *testing.T) {
	d := start(t, Options{}, skilled("a", true, "skill://one/SKILL.md"), skilled("b", false))
	if got := string(d.catalog.Describe(t.Context(), rules(t, modern), "", mcp.Principal{}).Capabilities); !strings.Contains(got, `"io.modelcontextprotocol/skills":{}`) {
		t.Errorf("got %s", got)
	}
	if got := ask(t, d, mcp.MethodDirectoryRead, `{"uri":"skill://one"}`); got != "no backend serves resources/directory/read" {
		t.Errorf("got %s", got)
	}
	none := start(t, Options{}, &fake{name: "a"})
	for _, m := range []mcp.Method{mcp.MethodSkillsList, mcp.MethodSkillsGet} {
		if got := ask(t, none, m, `{"uri":"skill://one/SKILL.md"}`); got != "no backend serves "+string(m) {
			t.Errorf("got %s", got)
		}
	}
	if got := string(none.catalog.Describe(t.Context(), rules(t, modern), "", mcp.Principal{}).Capabilities); strings.Contains(got, "extensions") {
		t.Errorf("got %s", got)
	}
}

// Skills and directories pass the policy: a hidden one is not listed and gets the response of one
// that does not exist.
func TestSkillsPassPolicy(t *testing.T) {
	a := skilled("a", true, "skill://open/SKILL.md", "skill://secret/SKILL.md", "skill://part/SKILL.md")
	d := start(t, Options{Access: decider(t, policy.Settings{
		Default: "allow",
		Rules: []policy.Rule{
			{Name: "secret", When: `resource.uri.startsWith("skill://secret") || resource.uri == "skill://part/sub"`, Then: "hide"},
			{Name: "denied", When: `request.method == "skills/get" && resource.uri == "skill://part/SKILL.md"`, Then: "deny"},
		},
	})}, a)
	if got := ask(t, d, mcp.MethodSkillsList, `{}`); !strings.Contains(got, "skill://open/") || strings.Contains(got, "secret") || strings.Contains(got, "skill://part") {
		t.Errorf("got %s", got)
	}
	for _, c := range []struct {
		method       mcp.Method
		hidden, none string
	}{
		{mcp.MethodSkillsGet, "skill://secret/SKILL.md", "skill://nixnix/SKILL.md"},
		{mcp.MethodDirectoryRead, "skill://secret", "skill://nixnix"},
	} {
		hidden, none := ask(t, d, c.method, `{"uri":"`+c.hidden+`"}`), ask(t, d, c.method, `{"uri":"`+c.none+`"}`)
		if hidden != strings.ReplaceAll(none, "nixnix", "secret") {
			t.Errorf("%s: hidden %q, unknown %q", c.method, hidden, none)
		}
		call := request(t, c.method, `{"uri":"`+c.hidden+`"}`)
		if _, err := d.Resolve(t.Context(), rules(t, modern), call); err == nil || mcp.AsError(err).Kind != mcp.KindResourceNotFound {
			t.Errorf("%s: what is hidden is %v", c.method, err)
		}
	}
	call := request(t, mcp.MethodSkillsGet, `{"uri":"skill://part/SKILL.md"}`)
	if _, err := d.Call(t.Context(), rules(t, modern), call, nil); err == nil || mcp.AsError(err).Kind != mcp.KindForbidden {
		t.Errorf("got %v", err)
	}
	if _, err := d.Resolve(t.Context(), rules(t, modern), call); err == nil || mcp.AsError(err).Kind != mcp.KindForbidden {
		t.Errorf("got %v", err)
	}
	if got := ask(t, d, mcp.MethodDirectoryRead, `{"uri":"skill://part"}`); !strings.Contains(got, "SKILL.md") || strings.Contains(got, "sub") {
		t.Errorf("got %s", got)
	}
}

// A backend that returns another skill, or an invalid one, breaks the contract.
func TestSkillsThatBreakTheContract(t *testing.T) {
	a := skilled("a", true, "skill://one/SKILL.md", "skill://two/SKILL.md")
	d := start(t, Options{}, a)
	for name, spoil := range map[string]func(*pb.Skill){
		"digest":       func(s *pb.Skill) { s.Files[0].Sha256 = []byte{1} },
		"no files":     func(s *pb.Skill) { s.Files = nil },
		"front matter": func(s *pb.Skill) { s.FrontmatterJson = `[` },
	} {
		before := a.skills[0]
		a.skills[0] = skilled("a", true, "skill://one/SKILL.md").skills[0]
		spoil(a.skills[0])
		if got := ask(t, d, mcp.MethodSkillsGet, `{"uri":"skill://one/SKILL.md"}`); !strings.Contains(got, "broke the contract") {
			t.Errorf("%s: %s", name, got)
		}
		a.skills[0] = before
	}
	if got := ask(t, d, mcp.MethodSkillsGet, `{}`); !strings.Contains(got, "params.uri") {
		t.Errorf("got %s", got)
	}
	if got := ask(t, d, mcp.MethodDirectoryRead, `{"uri":"skill://one","cursor":7}`); !strings.Contains(got, "cursor") {
		t.Errorf("got %s", got)
	}
}
