package translate

import (
	"encoding/hex"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// AppendSkill appends a Skill of skills/list or skills/get (Skills, "Skill Entries"). On error dst
// is returned unchanged.
func AppendSkill(dst []byte, x *pb.Skill) ([]byte, error) {
	if x.GetUri() == "" {
		return dst, contractError("skill.uri", "empty; send the URI of SKILL.md")
	}
	out := jsonrpc.AppendString(append(dst, `{"uri":`...), x.GetUri())
	out, err := appendJSONObject(append(out, `,"frontmatter":`...), "frontmatter_json", x.GetFrontmatterJson())
	if err != nil {
		return dst, err
	}
	out = append(out, `,"resources":`...)
	if x.GetDynamic() {
		return append(out, `"dynamic"}`...), nil
	}
	if len(x.GetFiles()) == 0 {
		return dst, contractError("files", "empty; name all files, or set dynamic")
	}
	start := len(out)
	for i, f := range x.GetFiles() {
		if len(f.GetSha256()) != 32 || f.GetSize() < 0 {
			return dst, contractError("files", "entry %d has %d bytes of sha256 and the size %d; send 32 bytes, and a size", i, len(f.GetSha256()), f.GetSize())
		}
		out = jsonrpc.AppendString(append(out, `,{"uri":`...), f.GetUri())
		out = hex.AppendEncode(append(out, `,"digest":"sha256:`...), f.GetSha256())
		out = strconv.AppendInt(append(out, `","size":`...), f.GetSize(), 10)
		out = append(out, '}')
	}
	return append(closeArray(out, start), '}'), nil
}

// SkillResult renders a GetSkillResult (Skills, "Getting a Skill").
func SkillResult(r *revision.Rules, s *Server, in mcp.Envelope, res *pb.GetSkillResponse) (mcp.Reply, error) {
	hint, err := Hint(res.GetCache())
	if err != nil {
		return mcp.Reply{}, err
	}
	dst, err := AppendSkill(append(in.Begin(512+192*len(res.GetSkill().GetFiles())), `{"skill":`...), res.GetSkill())
	if err != nil {
		return mcp.Reply{}, err
	}
	return in.Reply(append(append(appendCache(dst, r, hint), s.tail[r.Index]...), '}')), nil
}

// DirectoryResult renders a ReadResourceDirectoryResult (Skills, "Reading Directories"), which has
// no cache hint.
func DirectoryResult(r *revision.Rules, s *Server, in mcp.Envelope, children []*pb.Resource, next string) (mcp.Reply, error) {
	dst := append(in.Begin(256+192*len(children)), `{"resources":`...)
	start := len(dst)
	var err error
	for i, c := range children {
		if dst, err = AppendResource(append(dst, ','), r, c); err != nil {
			return mcp.Reply{}, withElement("resources", i, err)
		}
	}
	dst = appendText(closeArray(dst, start), `,"nextCursor":`, next)
	return in.Reply(append(append(dst, s.tail[r.Index]...), '}')), nil
}
