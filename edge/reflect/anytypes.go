package reflect

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
)

// anyTypes are message types that were found in a google.protobuf.Any and that the model's files do
// not describe. Each is requested from the target once. Their total cost is bounded as learning is.
// All methods are safe for concurrent use.
type anyTypes struct {
	// method is the reflection method that answered; empty if the target has none.
	method string
	// base has the files of the model.
	base *protoregistry.Files
	// asking is a lock of meter, held by the goroutine that sends requests.
	asking chan struct{}
	meter  *limit.Meter

	mu    sync.Mutex
	found map[protoreflect.FullName]protoreflect.MessageType
	// missed are the types that were not found, with the time at which each may be requested again.
	missed map[protoreflect.FullName]time.Time
}

// How long a type is not requested again: after the target did not know it, or could not be
// reached.
const (
	refusedFor = 10 * time.Minute
	failedFor  = 10 * time.Second
)

func newAnyTypes(method string, base *protoregistry.Files, room *limit.Room) *anyTypes {
	return &anyTypes{
		method: method, base: base, asking: make(chan struct{}, 1), meter: limit.New(context.Background(), room),
		found: map[protoreflect.FullName]protoreflect.MessageType{}, missed: map[protoreflect.FullName]time.Time{},
	}
}

// typeOf returns the name of the type that a URL of google.protobuf.Any names.
func typeOf(url string) protoreflect.FullName {
	return protoreflect.FullName(url[strings.LastIndexByte(url, '/')+1:])
}

// find returns a type, or nil if it is unknown. It requests the type from the target without the
// caller's metadata, because the answer serves all callers; asked reports that it did. It returns
// an error if the type was not found by this request, and nil if it was already known to be
// missing.
func (t *anyTypes) find(ctx context.Context, conn grpc.ClientConnInterface, name protoreflect.FullName) (found protoreflect.MessageType, asked bool, err error) {
	if t.method == "" || !isName(name) {
		return nil, false, nil
	}
	if found, known := t.known(name); known {
		return found, false, nil
	}
	ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(ctx, nil), limit.MaxAnyTime)
	defer cancel()
	select {
	case t.asking <- struct{}{}:
		defer func() { <-t.asking }()
	case <-ctx.Done():
		return nil, true, ctx.Err()
	}
	if found, known := t.known(name); known {
		return found, false, nil
	}
	found, refused, err := t.ask(ctx, conn, name)
	t.keep(name, found, refused)
	return found, true, err
}

// known returns the type, or nil if it is known to be missing. known is false if it should be
// requested.
func (t *anyTypes) known(name protoreflect.FullName) (found protoreflect.MessageType, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found = t.found[name]; found != nil {
		return found, true
	}
	return nil, time.Now().Before(t.missed[name])
}

// keep stores the result of a request.
func (t *anyTypes) keep(name protoreflect.FullName, found protoreflect.MessageType, refused bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found != nil {
		delete(t.missed, name)
		t.found[name] = found
		return
	}
	until := failedFor
	if refused {
		until = refusedFor
	}
	for other := range t.missed { // evict an arbitrary entry: callers choose the names
		if len(t.missed) < limit.MaxAnyMissed {
			break
		}
		delete(t.missed, other)
	}
	t.missed[name] = time.Now().Add(until)
}

// ask requests a type from the target. An invalid descriptor is an error, never a panic. refused
// means that a retry is useless.
func (t *anyTypes) ask(ctx context.Context, conn grpc.ClientConnInterface, name protoreflect.FullName) (found protoreflect.MessageType, refused bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			found, refused, err = nil, true, fmt.Errorf("its descriptors cannot be used: %v", p)
		}
	}()
	ctx, cancel := context.WithCancel(ctx) // ends the stream
	defer cancel()
	c := newCatalog(t.meter)
	c.base = t.base
	a := &asker{ctx: ctx, conn: conn, method: t.method, catalog: c, asked: map[string]bool{}}
	a.symbol(name, func(why error) { err = why })
	if failed := a.run(); failed != nil {
		return nil, false, failed
	}
	if err != nil {
		return nil, true, err
	}
	if failed := a.requestMissing(); failed != nil {
		return nil, false, failed
	}
	files := c.linked()
	lacks := c.findLacking(files)
	if err := t.meter.Err(); err != nil {
		return nil, true, err
	}
	d, err := files.FindDescriptorByName(name)
	md, ok := d.(protoreflect.MessageDescriptor)
	switch {
	case err != nil:
		return nil, true, err
	case !ok:
		return nil, true, fmt.Errorf("%s is not a message", name)
	case lacks.of(md) != "":
		return nil, true, fmt.Errorf("%s has a %s, which is not described", name, lacks.of(md))
	}
	return dynamicpb.NewMessageType(md), false, nil
}
