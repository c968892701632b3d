//go:build kubernetes && linux

package kubernetes

import "time"

// service is what is read of a Service.
type service struct {
	Spec struct {
		ClusterIP string
		Ports     []struct{ Port int }
	}
}

// podList is a list of pods, as kubectl prints it.
type podList struct{ Items []pod }

// pod is what is read of one.
type pod struct {
	Metadata struct {
		Name              string
		DeletionTimestamp *time.Time
	}
	Spec   struct{ NodeName string }
	Status struct {
		PodIP      string
		Conditions []struct {
			Type, Status       string
			LastTransitionTime time.Time
		}
		ContainerStatuses []struct {
			ContainerID  string
			RestartCount int
		}
	}
}

// isReady reports whether a pod is ready and does not end.
func (p *pod) isReady() bool {
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True" && p.Metadata.DeletionTimestamp == nil
		}
	}
	return false
}
