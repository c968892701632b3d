package backend

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// nameServer is a DNS server that knows one name, whose addresses can be replaced.
type nameServer struct {
	addr      string
	name      string
	addresses atomic.Pointer[[][4]byte]
	asked     atomic.Int64
	// others is how often another name was asked for.
	others atomic.Int64
}

func startNameServer(t *testing.T, name string) *nameServer {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{addr: c.LocalAddr().String(), name: name + "."}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 512)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer := s.answer(buf[:n]); answer != nil {
				_, _ = c.WriteTo(answer, from)
			}
		}
	}()
	t.Cleanup(func() {
		_ = c.Close()
		<-ended
	})
	return s
}

func (s *nameServer) answer(question []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	switch {
	case !strings.EqualFold(q.Name.String(), s.name):
		s.others.Add(1)
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		s.asked.Add(1)
		for _, a := range *s.addresses.Load() {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: a},
			})
		}
	}
	out, _ := m.Pack()
	return out
}

// A name is resolved again on a schedule: an address that is added gets calls without a
// connection's break, and one that is taken away gets none any more.
func TestNamesAreResolvedAgain(t *testing.T) {
	first, second := newFake("a"), newFake("a")
	_, port, _ := net.SplitHostPort(freeAddr(t))
	first.serve(t, "127.0.0.1:"+port)
	second.serve(t, "127.0.0.2:"+port)
	dns := startNameServer(t, "tools.test")
	one, two := [4]byte{127, 0, 0, 1}, [4]byte{127, 0, 0, 2}
	dns.addresses.Store(&[][4]byte{one})
	_, b, _ := started(t, Config{Target: "dns://" + dns.addr + "/tools.test:" + port, Resolve: minResolve}, fast)
	await.Until(t, "ready", func() bool { return b.Status().State == Ready })
	// turns says how many of some calls came to the second.
	turns := func() (n int32) {
		t.Helper()
		before := second.described.Load()
		for range 4 {
			if _, err := b.describe(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return second.described.Load() - before
	}
	asked := dns.asked.Load()
	await.Until(t, "DNS is asked again", func() bool { return dns.asked.Load() > asked })
	if n := turns(); n != 0 {
		t.Errorf("%d calls came to an address that DNS has not", n)
	}
	dns.addresses.Store(&[][4]byte{one, two})
	await.Until(t, "both take turns", func() bool { return turns() == 2 })
	dns.addresses.Store(&[][4]byte{two})
	await.Until(t, "the second is alone", func() bool { return turns() == 4 })
}

// DNS is asked for addresses alone. A service configuration there, gRPC's own way, could have calls
// repeated; and a resolver that cannot say that there is none, as in a network without a way out,
// would hold every backend up for as long as it is waited for.
func TestOnlyAddressesAreAskedFor(t *testing.T) {
	f := newFake("a")
	_, port, _ := net.SplitHostPort(freeAddr(t))
	f.serve(t, "127.0.0.1:"+port)
	dns := startNameServer(t, "tools.test")
	dns.addresses.Store(&[][4]byte{{127, 0, 0, 1}})
	_, b, _ := started(t, Config{Target: "dns://" + dns.addr + "/tools.test:" + port, Resolve: minResolve}, fast)
	await.Until(t, "ready", func() bool { return b.Status().State == Ready })
	if n := dns.others.Load(); n > 0 {
		t.Errorf("%d questions were about other names", n)
	}
}
