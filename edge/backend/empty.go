package backend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"
	rpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
)

// emptyReason returns why clients see nothing of a backend whose lists were all read; empty if they
// see something, or may with a principal of their own. It queries the backend once for each
// connection.
func (r *refresher) emptyReason(ctx context.Context) string {
	served := false
	for i := range r.parts {
		l := r.parts[i].list
		if r.parts[i].err != nil || l == nil || l.private || len(l.tools)+len(l.resources)+len(l.templates)+len(l.prompts) > 0 {
			return ""
		}
		served = served || l.served
	}
	switch {
	case r.b.adapter != nil:
		why := "include and exclude in its settings select nothing, or the service has no methods"
		if notes := r.b.notes(); len(notes) > 0 {
			why = strings.Join(notes[:min(len(notes), MaxProblems)], "; ")
		}
		return "no method of the service became a tool: " + why
	case served:
		return "it serves no tool, resource, template or prompt: its lists are empty"
	}
	if r.reflected.epoch != r.seen || r.reflected.text == "" {
		r.reflected.epoch, r.reflected.text = r.seen, r.b.withoutContract(ctx)
	}
	return r.reflected.text
}

// withoutContract describes the services of a target that serves none of the contract's services,
// with advice.
func (b *Backend) withoutContract(ctx context.Context) string {
	const none = "none of ToolService, ResourceService and PromptService of mcpedge.v1 is served"
	ctx, cancel := context.WithTimeout(ctx, b.tune.settle)
	defer cancel()
	services := b.services(ctx)
	if len(services) == 0 {
		return none + ": implement one, or check that the target is the one that does"
	}
	const few = 3
	names := strings.Join(services[:min(len(services), few)], ", ")
	if len(services) > few {
		names += fmt.Sprintf(" and %d more", len(services)-few)
	}
	return fmt.Sprintf("%s, but %s, by server reflection: to make tools of its methods, set kind: reflect for this backend in the configuration file, "+
		"as in backends: [{name: %s, target: %q, kind: reflect}], and start with --config FILE", none, names, b.cfg.Name, b.cfg.Target)
}

// reflectionMethods are the two versions of the reflection service, whose messages are the same.
var reflectionMethods = []string{
	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
}

// services returns the names of the services of a target, without infrastructure, by server
// reflection; nil if it has no reflection or does not answer.
func (b *Backend) services(ctx context.Context) []string {
	for _, method := range reflectionMethods {
		stream, err := b.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
		if err != nil {
			continue
		}
		res := &rpb.ServerReflectionResponse{}
		err = stream.SendMsg(&rpb.ServerReflectionRequest{MessageRequest: &rpb.ServerReflectionRequest_ListServices{}})
		if err == nil {
			err = stream.RecvMsg(res)
		}
		_ = stream.CloseSend()
		if err != nil {
			continue
		}
		var names []string
		for _, s := range res.GetListServicesResponse().GetService() {
			if !strings.HasPrefix(s.GetName(), "grpc.") && !strings.HasPrefix(s.GetName(), "mcpedge.v1.") {
				names = append(names, s.GetName())
			}
		}
		slices.Sort(names)
		return names
	}
	return nil
}
