// Command pay is a backend with the invoices of several tenants. As for crm, the tenant is an argument
// like any other.
//
//	pay --listen 127.0.0.1:50052
package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpedge/mcpedge/capability"
)

type (
	open struct {
		Tenant string `json:"tenant"`
	}
	refund struct {
		Tenant  string `json:"tenant"`
		Invoice string `json:"invoice"`
	}
)

// invoices are the open invoices of each tenant.
var invoices = map[string][]string{
	"acme":   {"i-17 Ada Smith 120 EUR"},
	"globex": {"i-23 Dan Smith 80 EUR", "i-24 Eve Brown 15 EUR"},
}

func main() {
	s := capability.New("pay", "1.0.0")
	capability.AddTool(s, "invoices", "Lists the open invoices", list, capability.ReadOnly())
	capability.AddTool(s, "refund", "Refunds an invoice", pay, capability.Destructive(true))
	capability.Main(s)
}

func list(_ context.Context, _ *capability.Call, in open) (string, error) {
	return strings.Join(invoices[in.Tenant], "\n"), nil
}

func pay(_ context.Context, _ *capability.Call, in refund) (string, error) {
	for _, one := range invoices[in.Tenant] {
		if strings.HasPrefix(one, in.Invoice+" ") {
			return "refunded " + one, nil
		}
	}
	return "", fmt.Errorf("%s has no invoice %s", in.Tenant, in.Invoice)
}
