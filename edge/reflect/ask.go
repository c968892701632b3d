package reflect

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	rpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
)

// The reflection service's two versions have the same messages on the wire.
var reflectionMethods = []string{
	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
}

// maxWindow bounds the requests that are sent before their answers arrive. The window starts at one
// and grows with each answer, because the first answers may already contain the files that would be
// requested next.
const maxWindow = 32

// ask reads a target's services by server reflection, in the newest version that the target
// supports.
func ask(ctx context.Context, conn grpc.ClientConnInterface, c *catalog, pick *selection, progress func(files, known int)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failed error
	for _, method := range reflectionMethods {
		a := &asker{ctx: ctx, conn: conn, method: method, catalog: c, progress: progress, asked: map[string]bool{}}
		names, err := a.list()
		if err == nil {
			c.method = method
			c.choose(names, pick)
			if err = a.all(); err == nil {
				return a.close()
			}
			return fmt.Errorf("server reflection: %w", err)
		}
		if failed == nil || status.Code(failed) == codes.Unimplemented {
			failed = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	if status.Code(failed) == codes.Unimplemented {
		return status.Error(codes.FailedPrecondition,
			"the service does not serve reflection: register it there, or give the backend a descriptor-set")
	}
	return fmt.Errorf("server reflection: %w", failed)
}

// question is a request for a file or a symbol.
type question struct {
	req *rpb.ServerReflectionRequest
	// depth is the length of the import chain to the file.
	depth int
	// refused is called if the target does not know it; nil ignores that.
	refused func(why error)
}

// asker sends reflection requests on one stream, several at a time. If the target ends the stream
// because of an unknown symbol, it continues on a new stream.
type asker struct {
	ctx      context.Context
	conn     grpc.ClientConnInterface
	method   string
	catalog  *catalog
	progress func(files, known int)

	stream grpc.ClientStream // nil if no stream is open
	// waiting are requests to send, open those without an answer, in the order of sending.
	waiting, open []question
	// asked are all files and symbols that were requested.
	asked map[string]bool
	// files is the number of requests for files that wait or are open.
	files int
	// window bounds len(open); received is the size of all answers, in bytes.
	window, received int
}

// list requests the names of all services.
func (a *asker) list() ([]string, error) {
	res, err := a.first(&rpb.ServerReflectionRequest{MessageRequest: &rpb.ServerReflectionRequest_ListServices{}})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range res.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	return names, nil
}

// first opens the stream with a request that must succeed.
func (a *asker) first(req *rpb.ServerReflectionRequest) (*rpb.ServerReflectionResponse, error) {
	if err := a.send(req); err != nil {
		return nil, err
	}
	res, err := a.receive()
	if err != nil {
		return nil, err
	}
	return res, refusal(res)
}

// send sends a request, on a new stream if none is open. It ignores the end of the stream: receive
// returns its error.
func (a *asker) send(req *rpb.ServerReflectionRequest) error {
	if a.stream == nil {
		stream, err := a.conn.NewStream(a.ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, a.method,
			grpc.MaxCallRecvMsgSize(limit.MaxDescriptorBytes))
		if err != nil {
			return err
		}
		a.stream = stream
	}
	if err := a.stream.SendMsg(req); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// receive reads one answer. An error ends the stream.
func (a *asker) receive() (*rpb.ServerReflectionResponse, error) {
	res := &rpb.ServerReflectionResponse{}
	if err := a.stream.RecvMsg(res); err != nil {
		a.stream = nil
		if errors.Is(err, io.EOF) {
			err = status.Error(codes.NotFound, "the target ended the stream without an answer")
		}
		return nil, err
	}
	return res, nil
}

// refusal returns the error in an answer, or nil.
func refusal(res *rpb.ServerReflectionResponse) error {
	if e := res.GetErrorResponse(); e != nil {
		return status.Error(codes.Code(e.GetErrorCode()), e.GetErrorMessage()) // #nosec G115 -- a code that gRPC does not have stays one
	}
	return nil
}

// close ends the stream.
func (a *asker) close() error {
	if a.stream == nil {
		return nil
	}
	return a.stream.CloseSend()
}

// all requests the files of the services, their imports, and the files of types that the former use
// but do not contain.
func (a *asker) all() error {
	for _, name := range a.catalog.services {
		a.symbol(protoreflect.FullName(name), func(why error) {
			a.catalog.note("service %s is not described: %v", name, why)
		})
	}
	if err := a.run(); err != nil {
		return err
	}
	a.operationTypes()
	return a.requestMissing()
}

// requestMissing requests the types that are used and not described, and the extensions of messages, until
// nothing is missing.
func (a *asker) requestMissing() error {
	for range limit.MaxDepth {
		for _, name := range a.catalog.unresolved() {
			a.symbol(name, nil)
		}
		for _, name := range a.catalog.extensible {
			a.extensions(name)
		}
		a.catalog.extensible = nil
		if len(a.waiting) == 0 {
			return nil
		}
		if err := a.run(); err != nil {
			return err
		}
	}
	a.catalog.exceeds("more of what types use", fmt.Errorf("it nests more than %d deep", limit.MaxDepth))
	return nil
}

// operationTypes requests the types that operation_info names, whose files need not be imported,
// under the first of their possible names that is known. A type that is never found is noted later.
func (a *asker) operationTypes() {
	var next func(names []protoreflect.FullName)
	next = func(names []protoreflect.FullName) {
		if len(names) > 0 {
			a.symbol(names[0], func(error) { next(names[1:]) })
		}
	}
	for _, names := range a.catalog.operationTypes() {
		if !a.catalog.declaresAny(names) {
			next(names)
		}
	}
}

// symbol requests the file of a symbol, once.
func (a *asker) symbol(name protoreflect.FullName, refused func(error)) {
	if a.once("symbol " + string(name)) {
		a.waiting = append(a.waiting, question{refused: refused, req: &rpb.ServerReflectionRequest{
			MessageRequest: &rpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: string(name)},
		}})
	}
}

// extensions requests the numbers of a message's extensions.
func (a *asker) extensions(of protoreflect.FullName) {
	if a.once("extensions " + string(of)) {
		a.waiting = append(a.waiting, question{req: &rpb.ServerReflectionRequest{
			MessageRequest: &rpb.ServerReflectionRequest_AllExtensionNumbersOfType{AllExtensionNumbersOfType: string(of)},
		}})
	}
}

// extension requests the file of an extension.
func (a *asker) extension(of protoreflect.FullName, number int32) {
	if a.once(fmt.Sprintf("extension %d of %s", number, of)) {
		a.waiting = append(a.waiting, question{req: &rpb.ServerReflectionRequest{
			MessageRequest: &rpb.ServerReflectionRequest_FileContainingExtension{
				FileContainingExtension: &rpb.ExtensionRequest{ContainingType: string(of), ExtensionNumber: number},
			},
		}})
	}
}

// file requests a file, once. If the target does not know it, the file linked into this program is
// used.
func (a *asker) file(name string, depth int) {
	if depth > limit.MaxDepth {
		a.catalog.exceeds(fmt.Sprintf("the file %.200q", name), fmt.Errorf("files import each other more than %d deep", limit.MaxDepth))
		return
	}
	if len(name) <= limit.MaxName && a.once("file "+name) {
		a.files++
		a.waiting = append(a.waiting, question{depth: depth, refused: func(error) { a.catalog.addLinked(name) }, req: &rpb.ServerReflectionRequest{
			MessageRequest: &rpb.ServerReflectionRequest_FileByFilename{FileByFilename: name},
		}})
	}
}

// once reports whether a request may be sent: it was not sent before, and there are not too many.
func (a *asker) once(what string) bool {
	if a.asked[what] || !a.catalog.meter.Step(1) {
		return false
	}
	if len(a.asked) >= limit.MaxFiles {
		a.catalog.exceeds("more of the service", fmt.Errorf("there are more than %d questions to ask about it", limit.MaxFiles))
		return false
	}
	a.asked[what] = true
	return true
}

// isKnown reports whether the answer to a request is already known.
func (a *asker) isKnown(q question) bool {
	if a.catalog.full() {
		return true
	}
	switch about := q.req.GetMessageRequest().(type) {
	case *rpb.ServerReflectionRequest_FileByFilename:
		return a.catalog.files[about.FileByFilename] != nil
	case *rpb.ServerReflectionRequest_FileContainingSymbol:
		return a.catalog.symbols[protoreflect.FullName(about.FileContainingSymbol)].file != ""
	case *rpb.ServerReflectionRequest_FileContainingExtension:
		x := about.FileContainingExtension
		return a.catalog.extensions[extension{protoreflect.FullName(x.GetContainingType()), x.GetExtensionNumber()}]
	}
	return false
}

// run sends requests until none wait.
func (a *asker) run() error {
	for {
		for len(a.waiting) > 0 && len(a.open) <= a.window {
			q := a.waiting[0]
			a.waiting = a.waiting[1:]
			if a.isKnown(q) {
				a.settled(q)
				continue
			}
			if err := a.send(q.req); err != nil {
				return err
			}
			a.open = append(a.open, q)
		}
		if len(a.open) == 0 {
			return nil
		}
		if err := a.answer(); err != nil {
			return err
		}
	}
}

// settled records that a request needs no answer any more.
func (a *asker) settled(q question) {
	if q.req.GetFileByFilename() != "" {
		a.files--
	}
}

// answer processes the answer to the oldest open request. If the target ends the stream instead,
// that request counts as refused, and the other open ones are sent again.
func (a *asker) answer() error {
	q := a.open[0]
	res, err := a.receive()
	switch {
	case err == nil:
		a.open = a.open[1:]
		a.window = min(a.window+1, maxWindow-1)
		err = refusal(res)
	case a.ctx.Err() != nil, status.Code(err) == codes.Unavailable, status.Code(err) == codes.Canceled:
		return err
	default:
		a.waiting = append(a.open[1:], a.waiting...)
		a.open = nil
	}
	a.settled(q)
	if err != nil {
		if q.refused != nil {
			q.refused(err)
		}
		return nil
	}
	return a.keep(res, q)
}

// keep stores the files of an answer and requests their imports, or the extensions that it names.
func (a *asker) keep(res *rpb.ServerReflectionResponse, q question) error {
	for _, raw := range res.GetFileDescriptorResponse().GetFileDescriptorProto() {
		if a.received += len(raw); a.received > limit.MaxAnswerBytes {
			a.catalog.exceeds("the rest of the service", fmt.Errorf("the answers of server reflection have more than %d bytes", limit.MaxAnswerBytes))
			a.waiting = nil
			return nil
		}
		fd, err := a.catalog.add(raw)
		if err != nil {
			a.catalog.note("%v", err)
			continue
		}
		for _, name := range fd.GetDependency() {
			if a.catalog.files[name] == nil && !a.catalog.inBase(name) {
				a.file(name, q.depth+1)
			}
		}
	}
	if about := q.req.GetAllExtensionNumbersOfType(); about != "" {
		for _, number := range res.GetAllExtensionNumbersResponse().GetExtensionNumber() {
			a.extension(protoreflect.FullName(about), number)
		}
	}
	if a.progress != nil {
		a.progress(len(a.catalog.files), len(a.catalog.files)+a.files)
	}
	if err := a.catalog.meter.Err(); err != nil && a.ctx.Err() == nil {
		a.catalog.exceeds("the rest of the service", err)
		a.waiting = nil
	}
	return a.ctx.Err()
}
