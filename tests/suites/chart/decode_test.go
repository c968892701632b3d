package chart

import (
	"fmt"
	"testing"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
)

// objects are those of a release, decoded.
type objects []runtime.Object

// decoder knows the APIs of Kubernetes, of the Gateway API, of cert-manager and of the Prometheus operator. It is strict: a
// field that is unknown, or there twice, is an error.
func decoder(t *testing.T) runtime.Decoder {
	t.Helper()
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, gateway.Install, certmanager.AddToScheme, monitoring.AddToScheme} {
		if err := add(all); err != nil {
			t.Fatal(err)
		}
	}
	return serializer.NewCodecFactory(all, serializer.EnableStrict).UniversalDeserializer()
}

// decode reads every object of a release.
func decode(t *testing.T, r *release.Release) (out objects) {
	t.Helper()
	d := decoder(t)
	for _, document := range documents(t, r) {
		object, _, err := d.Decode(document, nil, nil)
		if err != nil {
			t.Errorf("%v\n%s", err, document)
			continue
		}
		out = append(out, object)
	}
	return out
}

// only returns the one object of a type.
func only[T runtime.Object](t *testing.T, all objects) T {
	t.Helper()
	found := every[T](all)
	if len(found) != 1 {
		t.Fatalf("there are %d objects of type %T, not one", len(found), *new(T))
	}
	return found[0]
}

// every returns the objects of a type.
func every[T runtime.Object](all objects) (out []T) {
	for _, object := range all {
		if one, ok := object.(T); ok {
			out = append(out, one)
		}
	}
	return out
}

// title is how an object is called in messages.
func title(object runtime.Object) string {
	meta, _ := object.(metav1.Object)
	return fmt.Sprintf("%s/%s", object.GetObjectKind().GroupVersionKind().Kind, meta.GetName())
}
