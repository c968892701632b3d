package reflect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"

	// Options of services are decoded only if their types are linked into this program.
	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	_ "google.golang.org/genproto/googleapis/api/annotations"
)

// learn reads a target's services and creates their tools. It returns before if nothing has
// changed. An invalid descriptor is an error, never a panic. progress, unless nil, is called with
// the number of files received and the number known. room, which may be nil, accounts for the
// model's memory; the caller releases it.
func learn(ctx context.Context, conn grpc.ClientConnInterface, opts *Options, before *model, progress func(files, known int), room *limit.Room) (*model, error) {
	return learnBy(ctx, conn, opts, before, progress, limit.New(ctx, room))
}

// learnBy is learn with a given meter.
func learnBy(ctx context.Context, conn grpc.ClientConnInterface, opts *Options, before *model, progress func(files, known int), meter *limit.Meter) (m *model, err error) {
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, fmt.Errorf("the service's descriptors cannot be used: %v", p)
		}
	}()
	pick := newSelection(opts.Include, opts.Exclude)
	c := newCatalog(meter)
	if opts.DescriptorSet != nil {
		err = c.readSet(opts.DescriptorSet, pick)
	} else {
		err = ask(ctx, conn, c, pick, progress)
	}
	if full := meter.Full(); full != nil {
		err = full
	}
	if err != nil {
		return nil, err
	}
	source := c.digest()
	if before != nil && before.source == source {
		return before, nil
	}
	m = build(c, pick, opts.Prefix)
	if err := errors.Join(context.Cause(ctx), meter.Full()); err != nil {
		return nil, err
	}
	if len(m.tools) == 0 && c.bound != nil {
		return nil, fmt.Errorf("the service cannot be learned: %w", c.bound)
	}
	m.source = source
	return m, nil
}

// CheckDescriptorSet returns the number of tools that the descriptor set of the options makes. The
// error means that it cannot be used. It does not connect to a service.
func CheckDescriptorSet(ctx context.Context, opts Options) (tools int, err error) {
	m, err := learn(ctx, nil, &opts, nil, nil, nil)
	if err != nil {
		return 0, err
	}
	return len(m.tools), nil
}

// readSet adds the services of a descriptor set.
func (c *catalog) readSet(read func() ([]byte, error), pick *selection) error {
	raw, err := read()
	if err != nil {
		return fmt.Errorf("descriptor set: %w", err)
	}
	var services []string
	for rest := raw; len(rest) > 0; {
		number, kind, size := protowire.ConsumeField(rest)
		if size < 0 {
			return fmt.Errorf("descriptor set: it is not a serialized google.protobuf.FileDescriptorSet: %w", protowire.ParseError(size))
		}
		if number == 1 && kind == protowire.BytesType {
			_, _, start := protowire.ConsumeTag(rest)
			file, _ := protowire.ConsumeBytes(rest[start:])
			fd, err := c.add(file)
			if err != nil {
				return fmt.Errorf("descriptor set: it is not a serialized google.protobuf.FileDescriptorSet: %w", err)
			}
			for _, s := range fd.GetService() {
				services = append(services, join(fd.GetPackage(), s.GetName()))
			}
		}
		rest = rest[size:]
	}
	c.choose(services, pick)
	return nil
}

// version returns a digest of the tools, equal for equal descriptors.
func version(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// lacking maps each message that depends on an undescribed type to the name of one such type.
type lacking map[protoreflect.FullName]protoreflect.FullName

// of returns a type that a message lacks, or an empty string.
func (l lacking) of(md protoreflect.MessageDescriptor) protoreflect.FullName {
	if md.IsPlaceholder() {
		return md.FullName()
	}
	return l[md.FullName()]
}

// findLacking computes lacking. It visits every field once.
func (c *catalog) findLacking(files *protoregistry.Files) lacking {
	users := map[protoreflect.FullName][]protoreflect.FullName{} // by messages, and by types that are not described
	var undescribed []protoreflect.FullName
	var messages func(all protoreflect.MessageDescriptors)
	messages = func(all protoreflect.MessageDescriptors) {
		for i := range all.Len() {
			md := all.Get(i)
			for j := range md.Fields().Len() {
				if !c.meter.Step(1) {
					return
				}
				fd := md.Fields().Get(j)
				if sub := fd.Message(); sub != nil {
					users[sub.FullName()] = append(users[sub.FullName()], md.FullName())
					if sub.IsPlaceholder() {
						undescribed = append(undescribed, sub.FullName())
					}
				}
				if ed := fd.Enum(); ed != nil && ed.IsPlaceholder() {
					users[ed.FullName()] = append(users[ed.FullName()], md.FullName())
					undescribed = append(undescribed, ed.FullName())
				}
			}
			messages(md.Messages())
		}
	}
	files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		messages(fd.Messages())
		return true
	})
	slices.SortFunc(undescribed, func(a, b protoreflect.FullName) int { return strings.Compare(string(a), string(b)) })
	found := lacking{}
	for _, name := range slices.Compact(undescribed) {
		for queue := []protoreflect.FullName{name}; len(queue) > 0; queue = queue[1:] {
			for _, user := range users[queue[0]] {
				if found[user] == "" {
					found[user] = name
					queue = append(queue, user)
				}
			}
		}
	}
	return found
}
