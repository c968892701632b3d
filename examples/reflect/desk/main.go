// Command desk is a gRPC service that knows nothing of MCP. It finds out who calls it as such services do: by a JWT, by a key that its callers
// share, or by the tenant that metadata names.
package main

import (
	"context"
	"crypto/subtle"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"example.com/desk/deskv1"
)

// guard says who calls, by the metadata of the call.
type guard func(ctx context.Context, in metadata.MD) (who string, err error)

// one is the value of a key that was sent once.
func one(in metadata.MD, key string) (string, error) {
	values := in.Get(key)
	if len(values) != 1 || values[0] == "" {
		return "", fmt.Errorf("%s was sent %d times", key, len(values))
	}
	return values[0], nil
}

// byKey takes callers with a key.
func byKey(key string) guard {
	return func(_ context.Context, in metadata.MD) (string, error) {
		sent, err := one(in, "authorization")
		if err == nil && subtle.ConstantTimeCompare([]byte(sent), []byte("Bearer "+key)) != 1 {
			err = errors.New("the key is another")
		}
		return "one who has the key", err
	}
}

// byTenant takes callers of a tenant, and trusts the network that it is theirs.
func byTenant(_ context.Context, in metadata.MD) (string, error) {
	tenant, err := one(in, "x-tenant")
	return "someone of " + tenant + " in request " + strings.Join(in.Get("x-request-id"), ""), err
}

// byToken takes callers with a JWT for an audience. The keys are at a URL.
func byToken(url, audience string) guard {
	keys := sync.OnceValues(func() (jwkset.Storage, error) { return jwkset.NewDefaultHTTPClient([]string{url}) })
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithAudience(audience), jwt.WithExpirationRequired())
	return func(ctx context.Context, in metadata.MD) (string, error) {
		sent, err := one(in, "mcp-identity")
		if err != nil {
			return "", err
		}
		var who struct {
			jwt.RegisteredClaims
			Claims struct{ Tenant string }
		}
		_, err = parser.ParseWithClaims(sent, &who, func(t *jwt.Token) (any, error) {
			if t.Header["typ"] != "mcp-identity+jwt" {
				return nil, errors.New("it is a token of another type")
			}
			set, err := keys()
			if err != nil {
				return nil, err
			}
			id, _ := t.Header["kid"].(string)
			key, err := set.KeyRead(ctx, id)
			return key.Key(), err
		})
		return who.Subject + " of " + who.Claims.Tenant, err
	}
}

type desk struct {
	deskv1.UnimplementedDeskServer
	guard guard
}

// caller is who calls, or UNAUTHENTICATED.
func (d *desk) caller(ctx context.Context) (string, error) {
	in, _ := metadata.FromIncomingContext(ctx)
	who, err := d.guard(ctx, in)
	if err != nil {
		return "", status.Error(codes.Unauthenticated, err.Error())
	}
	return who, nil
}

// Whose implements deskv1.DeskServer.
func (d *desk) Whose(ctx context.Context, _ *deskv1.WhoseRequest) (*deskv1.WhoseResponse, error) {
	who, err := d.caller(ctx)
	return &deskv1.WhoseResponse{Caller: who}, err
}

func main() {
	listen := flag.String("listen", "127.0.0.1:50051", "`address`")
	keys := flag.String("jwks", "", "`URL` of the keys of JWTs, for the audience by-token")
	file := flag.String("key-file", "", "`file` with the key of callers; without it and jwks, callers have a tenant")
	flag.Parse()
	d := &desk{guard: byTenant}
	var options []grpc.ServerOption
	switch {
	case *keys != "":
		d.guard = byToken(*keys, "by-token")
	case *file != "":
		key, err := os.ReadFile(*file)
		if err != nil {
			log.Fatal(err)
		}
		d.guard = byKey(strings.TrimSpace(string(key)))
		// Reflection, too, is for those who have the key.
		options = append(options, grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if _, err := d.caller(s.Context()); err != nil {
				return err
			}
			return next(srv, s)
		}))
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(options...)
	deskv1.RegisterDeskServer(server, d)
	reflection.Register(server)
	log.Fatal(server.Serve(l))
}
