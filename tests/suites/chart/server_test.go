package chart

import (
	"context"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	api "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	corepod "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	coreservice "k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
)

// strategies are what the API server does with a new object.
var strategies = map[string]rest.RESTCreateStrategy{
	"ConfigMap":               configmap.Strategy,
	"Deployment":              deployment.Strategy,
	"HorizontalPodAutoscaler": horizontalpodautoscaler.Strategy,
	"Ingress":                 ingress.Strategy,
	"NetworkPolicy":           networkpolicy.Strategy,
	"Pod":                     corepod.Strategy,
	"PodDisruptionBudget":     poddisruptionbudget.Strategy,
	"Role":                    role.Strategy,
	"RoleBinding":             rolebinding.Strategy,
	"Secret":                  secret.Strategy,
	"Service":                 coreservice.Strategy,
	"ServiceAccount":          serviceaccount.Strategy,
}

// checkServer has an API server's own code default and validate each object of Kubernetes' own APIs. A warning is an error, too.
func checkServer(t *testing.T, r *release.Release) {
	t.Helper()
	for _, document := range documents(t, r) {
		object, kind, err := legacyscheme.Codecs.UniversalDecoder().Decode(document, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			continue // of a CRD
		}
		if err != nil {
			t.Errorf("%v\n%s", err, document)
			continue
		}
		strategy := strategies[kind.Kind]
		if strategy == nil {
			t.Errorf("there is no strategy for %s", kind.Kind)
			continue
		}
		meta, err := meta.Accessor(object)
		if err != nil {
			t.Fatal(err)
		}
		rest.FillObjectMetaSystemFields(meta)
		if s, ok := object.(*api.Service); ok {
			allocate(s)
		}
		who := kind.Kind + "/" + meta.GetName()
		ctx := request.WithRequestInfo(request.WithNamespace(context.Background(), namespace), requestInfo(*kind))
		if err := rest.BeforeCreate(strategy, ctx, object); err != nil {
			t.Errorf("the API server refuses %s: %v", who, err)
		}
		for _, warning := range strategy.WarningsOnCreate(ctx, object) {
			t.Errorf("the API server warns of %s: %s", who, warning)
		}
	}
}

// allocate gives a Service the addresses and ports that the API server would choose.
func allocate(s *api.Service) {
	if s.Spec.ClusterIP != "" {
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
	}
	if s.Spec.ExternalTrafficPolicy == api.ServiceExternalTrafficPolicyLocal {
		s.Spec.HealthCheckNodePort = 32000
	}
}

func requestInfo(kind schema.GroupVersionKind) *request.RequestInfo {
	return &request.RequestInfo{IsResourceRequest: true, Verb: "create", Namespace: namespace, APIGroup: kind.Group, APIVersion: kind.Version}
}
