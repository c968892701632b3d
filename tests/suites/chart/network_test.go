package chart

import (
	"testing"

	networking "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Who may reach the edge's ports, by the NetworkPolicy: nil is everybody.
func TestWhoReachesTheEdge(t *testing.T) {
	neighbours := networking.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}}
	for _, s := range []struct {
		name, values string
		mcp, admin   int // how many peers; -1: everybody
	}{
		{"nobody is authenticated: its namespace, and nobody the admin port", ``, 1, 0},
		{"exposed: everybody", `{config: {listen: {allow-anonymous: true}}, ingress: {enabled: true}}`, -1, 0},
		{"authenticated: everybody", `{config: {listen: {public-url: "https://a.example"}, auth: {api-keys: k}}}`, -1, 0},
		{"chosen, and the test", `{networkPolicy: {from: [{ipBlock: {cidr: 10.0.0.0/8}}]}}`, 2, 0},
		{"scraped", `{config: {admin: {allow-remote: true}}, podMonitor: {enabled: true}}`, 1, 1},
		{"scraped, and operated", `{config: {admin: {allow-remote: true}}, serviceMonitor: {enabled: true}, networkPolicy: {adminFrom: [{podSelector: {matchLabels: {a: b}}}]}}`, 1, 2},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r, err := render(t, s.values)
			if err != nil {
				t.Fatal(err)
			}
			np := only[*networking.NetworkPolicy](t, decode(t, r))
			got := map[int32]int{}
			for _, rule := range np.Spec.Ingress {
				if len(rule.Ports) != 1 {
					t.Fatalf("a rule is about the ports %v", rule.Ports)
				}
				peers := len(rule.From)
				if peers == 0 {
					peers = -1
				}
				got[rule.Ports[0].Port.IntVal] += peers
			}
			if got[8080] != s.mcp || got[9090] != s.admin {
				t.Errorf("the policy lets %d to the MCP port and %d to the admin port, not %d and %d: %v", got[8080], got[9090], s.mcp, s.admin, np.Spec.Ingress)
			}
			if first := np.Spec.Ingress[0]; s.mcp == 1 && first.From[0].String() != neighbours.String() {
				t.Errorf("the policy lets %v to the MCP port", first.From)
			}
		})
	}
}
