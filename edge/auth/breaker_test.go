package auth_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// An issuer that hangs delays few callers: after three the others are refused a token at once,
// except for an occasional probe, which finds out when it answers again. Callers with a cached
// token, and those of other backends, are not affected. One token that hangs affects no other
// caller.
func TestHungIssuerFailsFast(t *testing.T) {
	i := issuer.New("https://id.example")
	synctest.Test(t, func(t *testing.T) {
		o := remote(i)
		o.Issuers[0].Exchange = exchangeOf()
		a := newAuth(t, o)
		crm, erp := a.Exchanger(auth.Wanted{Backend: "crm", Audience: "crm"}), a.Exchanger(auth.Wanted{Backend: "erp", Audience: "erp"})
		callers := 0
		prove := func(x *auth.Exchanger, subject string) (time.Duration, error) {
			ctx, who := of(t, i, i.Token(subject, resource))
			began := time.Now()
			_, _, err := x.Prove(ctx, who, "call")
			return time.Since(began), err
		}
		next := func(x *auth.Exchanger) (time.Duration, error) {
			callers++
			return prove(x, fmt.Sprint("caller", callers))
		}
		known := i.Token("alice", resource)
		alice := func() error {
			ctx, who := of(t, i, known)
			_, _, err := crm.Prove(ctx, who, "call")
			return err
		}
		if err := alice(); err != nil {
			t.Fatal(err)
		}

		i.SetDelay(time.Hour)
		for n := range 3 {
			if took, err := next(crm); mcp.AsError(err).Kind != mcp.KindUnavailable || took != 5*time.Second {
				t.Errorf("caller %d: %v after %v", n, err, took)
			}
		}
		asked := i.Exchanges.Load()
		for range 100 {
			took, err := next(crm)
			if e := mcp.AsError(err); e.Kind != mcp.KindUnavailable || took != 0 || e.RetryAfter <= 0 || e.RetryAfter > 10*time.Second {
				t.Fatalf("%v after %v, again in %v", err, took, e.RetryAfter)
			}
		}
		if n := i.Exchanges.Load() - asked; n != 0 {
			t.Errorf("the issuer was asked %d times", n)
		}
		if err := alice(); err != nil {
			t.Errorf("whose token is at hand: %v", err)
		}
		if took, _ := next(erp); took != 5*time.Second {
			t.Errorf("of another backend: %v", took)
		}
		// One at a time.
		began, late := time.Now(), 0
		for time.Since(began) < 10*time.Minute {
			if took, err := next(crm); err == nil {
				t.Fatal("a token of an issuer that hangs")
			} else if took > 0 {
				late++
			}
			time.Sleep(100 * time.Millisecond)
		}
		if late < 35 || late > 45 {
			t.Errorf("%d callers waited in ten minutes, want one in 15 s", late)
		}
		// Of many at once, one waits.
		time.Sleep(30 * time.Second)
		var mu sync.Mutex
		var group sync.WaitGroup
		late = 0
		for range 100 {
			callers++
			subject := fmt.Sprint("caller", callers)
			group.Go(func() {
				if took, _ := prove(crm, subject); took > 0 {
					mu.Lock()
					defer mu.Unlock()
					late++
				}
			})
		}
		group.Wait()
		if late != 1 {
			t.Errorf("%d of a hundred callers waited", late)
		}
		i.SetDelay(0)
		time.Sleep(30 * time.Second)
		for range 10 {
			if _, err := next(crm); err != nil {
				t.Errorf("when it is back: %v", err)
			}
		}

		// One token that hangs among others that do not.
		for range 10 {
			i.SetDelay(time.Hour)
			if took, _ := prove(crm, "mallory"); took != 5*time.Second {
				t.Errorf("mallory waited %v", took)
			}
			i.SetDelay(0)
			if _, err := next(crm); err != nil {
				t.Errorf("beside one that hangs: %v", err)
			}
		}
	})
}
