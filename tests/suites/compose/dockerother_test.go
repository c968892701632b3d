//go:build composedocker && !linux

package compose

import "testing"

func TestDocker(t *testing.T) { t.Skip("left out: an engine of its own takes namespaces of Linux") }
