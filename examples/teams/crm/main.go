// Command crm is a backend with the customers of several tenants. The tenant is an argument like any
// other: what fixes it to the caller is the catalog of the edge, see docs/catalog.md.
//
//	crm --listen 127.0.0.1:50051
package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpedge/mcpedge/capability"
)

type (
	search struct {
		Tenant string `json:"tenant" description:"Whose customers"`
		Name   string `json:"name" description:"A part of the name"`
		Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"100"`
	}
	removal struct {
		Tenant string `json:"tenant"`
		ID     string `json:"id"`
	}
)

// customers are the customers of each tenant, guarded by mu.
var (
	mu        sync.Mutex
	customers = map[string][]string{
		"acme":   {"a1 Ada Smith", "a2 Bob Smith", "a3 Carol Jones"},
		"globex": {"g1 Dan Smith", "g2 Eve Brown"},
	}
)

func main() {
	s := capability.New("crm", "1.0.0")
	capability.AddTool(s, "find", "Searches CUST_TBL by NAME1", find, capability.ReadOnly())
	capability.AddTool(s, "delete_customer", "Deletes a customer for good", remove, capability.Destructive(true))
	capability.Main(s)
}

func find(_ context.Context, _ *capability.Call, in search) (string, error) {
	mu.Lock()
	defer mu.Unlock()
	var found []string
	for _, one := range customers[in.Tenant] {
		if strings.Contains(one, in.Name) && (in.Limit == 0 || len(found) < in.Limit) {
			found = append(found, one)
		}
	}
	if found == nil {
		return "", fmt.Errorf("%s has no customer named %s", in.Tenant, in.Name)
	}
	return strings.Join(found, "\n"), nil
}

func remove(_ context.Context, _ *capability.Call, in removal) (string, error) {
	mu.Lock()
	defer mu.Unlock()
	of := customers[in.Tenant]
	n := slices.IndexFunc(of, func(one string) bool { return strings.HasPrefix(one, in.ID+" ") })
	if n < 0 {
		return "", fmt.Errorf("%s has no customer %s", in.Tenant, in.ID)
	}
	customers[in.Tenant] = slices.Delete(of, n, n+1)
	return fmt.Sprintf("%s is deleted", in.ID), nil
}
