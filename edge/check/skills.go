package check

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/check/vet"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// skills gets the listed skills and an unknown one, and lists the directories of the former.
func (p *prober) skills(ctx context.Context, listed []*pb.Skill) {
	p.try(func() string {
		_, err := p.getSkill(ctx, unknownName+"://nothing/SKILL.md")
		return p.notFound("GetSkill, an unknown URI", err)
	})
	for _, s := range listed[:min(len(listed), maxTried)] {
		p.try(func() string { return p.listedSkill(ctx, s) })
	}
	if !p.survey.Described.GetResources().GetDirectories() {
		return
	}
	p.try(func() string {
		_, err := p.directory(ctx, unknownName+"://nothing")
		return p.notFound("ListResourceDirectory, an unknown URI", err)
	})
	for _, s := range listed[:min(len(listed), maxTried)] {
		p.try(func() string { return p.skillDirectory(ctx, s) })
	}
}

func (p *prober) getSkill(ctx context.Context, uri string) (*pb.GetSkillResponse, error) {
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	return p.b.Resources().GetSkill(ctx, &pb.GetSkillRequest{Uri: uri, Context: p.request(newCall(), 1)})
}

func (p *prober) directory(ctx context.Context, uri string) (*pb.ListResourceDirectoryResponse, error) {
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	return p.b.Resources().ListResourceDirectory(ctx, &pb.ListResourceDirectoryRequest{Uri: uri, Context: p.request(newCall(), 1)})
}

// notFound checks the status for an unknown skill.
func (p *prober) notFound(what string, err error) (ok string) {
	if status.Code(err) != codes.NotFound {
		p.violation("%s: %s: it must be NOT_FOUND", what, statusText(err))
		return ""
	}
	return what + ": NOT_FOUND"
}

func (p *prober) listedSkill(ctx context.Context, listed *pb.Skill) (ok string) {
	what := fmt.Sprintf("GetSkill %q", listed.Uri)
	got, err := p.getSkill(ctx, listed.Uri)
	if err != nil {
		p.violation("%s: %s, although it is listed", what, statusText(err))
		return ""
	}
	if _, err := vet.Skill(got.GetSkill(), func(text string) { p.note("%s: %s", what, text) }); err != nil {
		p.violation("%s: %v", what, err)
		return ""
	}
	if !proto.Equal(got.GetSkill(), listed) {
		p.note("%s: it is not as it is listed: it has changed, or clients take it for changed", what)
	}
	return fmt.Sprintf("%s: %d files", what, len(got.GetSkill().GetFiles()))
}

func (p *prober) skillDirectory(ctx context.Context, s *pb.Skill) (ok string) {
	root := strings.TrimSuffix(s.Uri, "/SKILL.md")
	what := fmt.Sprintf("ListResourceDirectory %q", root)
	got, err := p.directory(ctx, root)
	if err != nil {
		p.violation("%s: %s, although it is the directory of a skill", what, statusText(err))
		return ""
	}
	for i, r := range got.GetResources() {
		_, err := vet.Resource(r, func(text string) { p.note("%s: resources[%d]: %s", what, i, text) })
		if err == nil && !strings.HasPrefix(r.Uri, root+"/") {
			err = fmt.Errorf("uri is %.80q: it must be below the directory", r.Uri)
		}
		if err != nil {
			p.violation("%s: resources[%d]: %v", what, i, err)
		}
	}
	return fmt.Sprintf("%s: %d children", what, len(got.GetResources()))
}
