package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/yaml"
)

// definitions are CRDs that come with the Go modules of their types: of a kind, the module and its file.
var definitions = map[string][2]string{
	"HTTPRoute":   {"sigs.k8s.io/gateway-api", "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
	"Certificate": {"github.com/cert-manager/cert-manager", "deploy/crds/cert-manager.io_certificates.yaml"},
}

// definition reads a CRD once.
var definition = sync.OnceValues(func() (map[string]*apiextensions.CustomResourceDefinition, error) {
	all := map[string]*apiextensions.CustomResourceDefinition{}
	for kind, from := range definitions {
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", from[0]).Output()
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), from[1]))
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return nil, err
		}
		all[kind] = &apiextensions.CustomResourceDefinition{}
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&crd, all[kind], nil); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// checkDefinitions holds the objects of CRDs against their schemas: patterns, enumerations, lengths.
func checkDefinitions(t *testing.T, r *release.Release) {
	t.Helper()
	all, err := definition()
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range documents(t, r) {
		var object map[string]any
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		kind, _ := object["kind"].(string)
		crd := all[kind]
		if crd == nil {
			continue
		}
		version := object["apiVersion"].(string)
		found := false
		for _, v := range crd.Spec.Versions {
			if crd.Spec.Group+"/"+v.Name != version {
				continue
			}
			found = true
			schema := crd.Spec.Validation
			if v.Schema != nil {
				schema = v.Schema
			}
			validator, _, err := validation.NewSchemaValidator(schema.OpenAPIV3Schema)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range validation.ValidateCustomResource(nil, object, validator) {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if !found {
			t.Errorf("%s has no version %s", kind, version)
		}
	}
}
