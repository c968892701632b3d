package backend

import (
	"fmt"

	"github.com/mcpedge/mcpedge/edge/check/vet"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// ValidSkill returns an error unless a skill that the backend returned is valid, by the same rules as
// the entries of a list of skills. It repairs minor defects.
func ValidSkill(x *pb.Skill) error {
	_, err := vet.Skill(x, func(string) {})
	return err
}

// ValidChildren returns the valid entries of one page of a directory, by the same rules as the entries
// of a list of resources, and a report of each kind of problem. It fails if the page has more than
// MaxEntries.
func ValidChildren(entries []*pb.Resource) (valid []*pb.Resource, problems []string, err error) {
	if len(entries) > MaxEntries {
		return nil, nil, &boundError{fmt.Sprintf("ListResourceDirectory gives %d entries in one page: give at most %d", len(entries), MaxEntries)}
	}
	l := &list{}
	return validEntries(l, entries, vet.Resource), l.problems, nil
}
