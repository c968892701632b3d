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

	// What services' options may use must be known when their descriptors are read.
	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	_ "google.golang.org/genproto/googleapis/api/annotations"
)

// learn finds out what a target serves and makes tools of it; before is returned when nothing has changed
// since. A fault in the descriptors is an error, never a panic. progress is called as files come, with
// their number and how many are known of; nil is not. room, which may be nil, is what the model holds; the caller releases it.
func learn(ctx context.Context, conn grpc.ClientConnInterface, opts *Options, before *model, progress func(files, known int), room *limit.Room) (*model, error) {
	return learnBy(ctx, conn, opts, before, progress, limit.New(ctx, room))
}

// learnBy is learn with the meter of ctx.
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

// readSet takes the services from a descriptor set.
func (c *catalog) readSet(read func() ([]byte, error), pick *selection) error {
	raw, err := read()
	if err != nil {
		return fmt.Errorf("descriptor set: %w", err)
	}
	var services []string
	for rest := raw; len(rest) > 0; {
		number, kind, size := protowire.ConsumeField(rest)
		if size < 0 {
			return fmt.Errorf("descriptor set: it is no serialized google.protobuf.FileDescriptorSet: %w", protowire.ParseError(size))
		}
		if number == 1 && kind == protowire.BytesType {
			_, _, start := protowire.ConsumeTag(rest)
			file, _ := protowire.ConsumeBytes(rest[start:])
			fd, err := c.add(file)
			if err != nil {
				return fmt.Errorf("descriptor set: it is no serialized google.protobuf.FileDescriptorSet: %w", err)
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

// version is a digest of the tools, the same for the same descriptors.
func version(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// lacking are the messages below which something is used that is described nowhere, each with the name of one such
// thing.
type lacking map[protoreflect.FullName]protoreflect.FullName

// of returns what a message lacks; empty: nothing.
func (l lacking) of(md protoreflect.MessageDescriptor) protoreflect.FullName {
	if md.IsPlaceholder() {
		return md.FullName()
	}
	return l[md.FullName()]
}

// findLacking looks at every field once.
func (c *catalog) findLacking(files *protoregistry.Files) lacking {
	users := map[protoreflect.FullName][]protoreflect.FullName{} // of what is not described, and of messages
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
