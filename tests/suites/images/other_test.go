//go:build images && !linux

package images

import "testing"

func TestLeftOut(t *testing.T) { t.Skip("left out: an engine of its own takes namespaces of Linux") }
