package apis

import (
	"context"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// compile reads the files below each of dirs that wanted accepts, by their names as imports have them, and what those import: from dirs, else
// from what this program is linked with. Files of other APIs have the same names there, so what is read gets a registry of its own.
func compile(dirs []string, wanted func(name string) bool) (*protoregistry.Files, error) {
	var names []string
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if name = filepath.ToSlash(name); err == nil && strings.HasSuffix(name, ".proto") && wanted(name) {
				names = append(names, name)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	linked := protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
		fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
		return protocompile.SearchResult{Desc: fd}, err
	})
	c := protocompile.Compiler{
		Resolver: protocompile.CompositeResolver{
			protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: dirs}), linked,
		},
		SourceInfoMode: protocompile.SourceInfoNone,
	}
	compiled, err := c.Compile(context.Background(), names...)
	if err != nil {
		return nil, err
	}
	files := new(protoregistry.Files)
	for _, fd := range compiled {
		if err := register(files, fd); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// register adds a file and what it imports to files.
func register(files *protoregistry.Files, fd protoreflect.FileDescriptor) error {
	if _, err := files.FindFileByPath(fd.Path()); err == nil {
		return nil
	}
	imports := fd.Imports()
	for i := range imports.Len() {
		if err := register(files, imports.Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	return files.RegisterFile(fd)
}

// tikv compiles TiKV's API from the sources in its Go module, whose generated code is gogo/protobuf's and is in no registry of ours.
func tikv() (*protoregistry.Files, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/pingcap/kvproto").Output()
	if err != nil {
		return nil, fmt.Errorf("where the module kvproto is: %w", err)
	}
	dir := strings.TrimSpace(string(out))
	return compile([]string{filepath.Join(dir, "proto"), filepath.Join(dir, "include")}, func(name string) bool { return name == "tikvpb.proto" })
}

// googleAds compiles the API of Google Ads from the sources in its npm package, which `npm ci` brings.
func googleAds() (*protoregistry.Files, error) {
	files, err := compile([]string{"node_modules/google-ads-node/build/protos"}, func(name string) bool { return strings.HasSuffix(name, "_service.proto") })
	if err != nil {
		return nil, fmt.Errorf("the protos of google-ads-node (make stages ONLY=apis installs it): %w", err)
	}
	return files, nil
}
