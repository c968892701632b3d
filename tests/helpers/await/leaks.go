package await

import (
	"time"

	"go.uber.org/goleak"
)

// Leaks returns the tests of a package for goleak.VerifyTestMain, which gives goroutines less than half a second to end after the tests. With
// Leaks they have Patience, since a peer in another process may have to close a connection first.
func Leaks(m goleak.TestingM) goleak.TestingM { return ending{m} }

// ending runs tests, and waits until their goroutines have ended.
type ending struct{ tests goleak.TestingM }

func (e ending) Run() int {
	code := e.tests.Run()
	for end := time.Now().Add(Patience); code == 0 && goleak.Find() != nil && time.Now().Before(end); {
	}
	return code
}
