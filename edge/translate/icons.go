package translate

import (
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// appendIcons appends `icons` if the revision has them.
func appendIcons(dst []byte, r *revision.Rules, icons []*pb.Icon) ([]byte, error) {
	if len(icons) == 0 {
		return dst, nil
	}
	before := len(dst)
	dst = append(dst, `,"icons":`...)
	start := len(dst)
	for i, icon := range icons {
		if err := iconFault(icon); err != nil {
			return dst, withElement("icons", i, err)
		}
		dst = jsonrpc.AppendString(append(dst, `,{"src":`...), icon.GetSrc())
		dst = appendText(dst, `,"mimeType":`, icon.GetMimeType())
		dst = appendStrings(dst, `,"sizes":`, icon.GetSizes())
		dst = appendText(dst, `,"theme":`, icon.GetTheme())
		dst = append(dst, '}')
	}
	if !r.Icons {
		return dst[:before], nil
	}
	return closeArray(dst, start), nil
}

func iconFault(icon *pb.Icon) error {
	if icon.GetSrc() == "" {
		return contractError("src", "empty; send an https: or data: URI")
	}
	switch icon.GetTheme() {
	case "", "light", "dark":
		return nil
	}
	return contractError("theme", "%q is not known; send \"light\", \"dark\", or leave it out", icon.GetTheme())
}

// appendAnnotations appends `annotations`. It appends nothing if they are empty.
func appendAnnotations(dst []byte, r *revision.Rules, a *pb.Annotations) ([]byte, error) {
	if a == nil {
		return dst, nil
	}
	before := len(dst)
	dst = append(dst, `,"annotations":`...)
	start := len(dst)
	if len(a.GetAudience()) > 0 {
		dst = append(dst, `,"audience":`...)
		list := len(dst)
		for _, role := range a.GetAudience() {
			name, err := roleName("audience", role)
			if err != nil {
				return dst, withField("annotations", err)
			}
			dst = append(append(append(dst, ',', '"'), name...), '"')
		}
		dst = closeArray(dst, list)
	}
	dst, err := appendFraction(dst, `,"priority":`, "priority", a.Priority)
	if err != nil {
		return dst, withField("annotations", err)
	}
	if r.Titles {
		dst = appendText(dst, `,"lastModified":`, a.GetLastModified())
	}
	if len(dst) == start {
		return dst[:before], nil
	}
	return closeObject(dst, start), nil
}

// roleName is MCP's name of a role.
func roleName(field string, role pb.Role) (string, error) {
	switch role {
	case pb.Role_ROLE_USER:
		return "user", nil
	case pb.Role_ROLE_ASSISTANT:
		return "assistant", nil
	}
	return "", contractError(field, "%v is not a role; send ROLE_USER or ROLE_ASSISTANT", role)
}
