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

// maxWindow is how many questions are asked before their answers have come, at most. It begins with one and rises with
// each answer, since the first answers may hold what would be asked about next.
const maxWindow = 32

// ask learns a target's services by server reflection, in the newest version that answers.
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

// question is one about a file or a symbol.
type question struct {
	req *rpb.ServerReflectionRequest
	// depth is how many imports lead to what is asked about.
	depth int
	// refused is called when the target does not know it; nil: then nothing is lost.
	refused func(why error)
}

// asker asks questions on one stream, several at a time, and on the next one where a target ends the stream at what it
// does not know.
type asker struct {
	ctx      context.Context
	conn     grpc.ClientConnInterface
	method   string
	catalog  *catalog
	progress func(files, known int)

	stream grpc.ClientStream // nil: none is open
	// waiting are questions to be asked, open those without an answer yet, in their order.
	waiting, open []question
	// asked are the files and symbols that were asked about, ever.
	asked map[string]bool
	// files is how many questions about files wait or are open.
	files int
	// window is how many may be open, received how many bytes the answers had.
	window, received int
}

// list asks for the names of all services.
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

// first opens the stream with a question that must be answered.
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

// send asks a question, on a new stream if none is open. A stream that has ended is no error: receive says why.
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

// refusal is the error that an answer holds; nil: it answers.
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

// all asks for the files of the services, for what they import, and for the types that are used and were in none of
// these.
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
	return a.rest()
}

// rest asks for the types that are used and not described yet, and for the extensions of messages, until there are no more.
func (a *asker) rest() error {
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

// operationTypes asks for the types that operation_info names, in files that need not be imported: under the first of
// the names that is known. One that is not known under any is noted later.
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

// symbol asks for the file of a symbol, unless that was asked before.
func (a *asker) symbol(name protoreflect.FullName, refused func(error)) {
	if a.once("symbol " + string(name)) {
		a.waiting = append(a.waiting, question{refused: refused, req: &rpb.ServerReflectionRequest{
			MessageRequest: &rpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: string(name)},
		}})
	}
}

// extensions asks which extensions a message has.
func (a *asker) extensions(of protoreflect.FullName) {
	if a.once("extensions " + string(of)) {
		a.waiting = append(a.waiting, question{req: &rpb.ServerReflectionRequest{
			MessageRequest: &rpb.ServerReflectionRequest_AllExtensionNumbersOfType{AllExtensionNumbersOfType: string(of)},
		}})
	}
}

// extension asks for the file of an extension.
func (a *asker) extension(of protoreflect.FullName, number int32) {
	if a.once(fmt.Sprintf("extension %d of %s", number, of)) {
		a.waiting = append(a.waiting, question{req: &rpb.ServerReflectionRequest{
			MessageRequest: &rpb.ServerReflectionRequest_FileContainingExtension{
				FileContainingExtension: &rpb.ExtensionRequest{ContainingType: string(of), ExtensionNumber: number},
			},
		}})
	}
}

// file asks for a file, unless that was asked before. One that the target does not know is taken from this program.
func (a *asker) file(name string, depth int) {
	if depth > limit.MaxDepth {
		a.catalog.exceeds(fmt.Sprintf("the file %.200q", name), fmt.Errorf("files import each other more than %d deep", limit.MaxDepth))
		return
	}
	if len(name) <= limit.MaxName && a.once("file "+name) {
		a.files++
		a.waiting = append(a.waiting, question{depth: depth, refused: func(error) { a.catalog.common(name) }, req: &rpb.ServerReflectionRequest{
			MessageRequest: &rpb.ServerReflectionRequest_FileByFilename{FileByFilename: name},
		}})
	}
}

// once reports whether something may be asked: it was not, and there are not too many questions.
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

// needless reports whether the answer to a question is known by now.
func (a *asker) needless(q question) bool {
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

// run asks until nothing waits.
func (a *asker) run() error {
	for {
		for len(a.waiting) > 0 && len(a.open) <= a.window {
			q := a.waiting[0]
			a.waiting = a.waiting[1:]
			if a.needless(q) {
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

// settled counts a question that needs no answer any more.
func (a *asker) settled(q question) {
	if q.req.GetFileByFilename() != "" {
		a.files--
	}
}

// answer takes the answer to the question that is open longest. A target that ends the stream instead has refused that
// question; the others are asked again.
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

// keep takes the files of an answer and asks for what they import, or for the extensions that it names.
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
			if a.catalog.files[name] == nil && !a.catalog.based(name) {
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
