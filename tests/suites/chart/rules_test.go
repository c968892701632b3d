package chart

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	admission "k8s.io/pod-security-admission/api"
	security "k8s.io/pod-security-admission/policy"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
)

// pod is one that a release runs.
type pod struct {
	name   string
	labels map[string]string
	spec   core.PodSpec
}

// pods are those of the Deployments, and the test's.
func pods(all objects) (out []pod) {
	for _, d := range every[*apps.Deployment](all) {
		out = append(out, pod{d.Name, d.Spec.Template.Labels, d.Spec.Template.Spec})
	}
	for _, p := range every[*core.Pod](all) {
		out = append(out, pod{p.Name, p.Labels, p.Spec})
	}
	return out
}

// edgePod is the pod of the edge.
func edgePod(t *testing.T, all objects) pod {
	t.Helper()
	for _, p := range pods(all) {
		if p.labels["app.kubernetes.io/component"] == "edge" {
			return p
		}
	}
	t.Fatal("no pod has the component edge")
	return pod{}
}

// What the API server would refuse, or would not lead anywhere: names, labels, selectors, ports, volumes.
func TestObjectsFitTogether(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r, err := render(t, s.values)
			if err != nil {
				t.Fatal(err)
			}
			all := decode(t, r)
			checkNames(t, all)
			checkSelectors(t, all)
			checkReferences(t, all)
			checkServer(t, r)
			checkDefinitions(t, r)
			checkRoles(t, all)
			reads := len(every[*rbac.Role](all)) > 0
			for _, p := range pods(all) {
				checkPod(t, p, reads && p.labels["app.kubernetes.io/component"] == "edge")
			}
		})
	}
}

func checkNames(t *testing.T, all objects) {
	t.Helper()
	for _, object := range all {
		meta, ok := object.(metav1.Object)
		if !ok {
			t.Fatalf("%T has no metadata", object)
		}
		if wrong := validation.IsDNS1123Label(meta.GetName()); len(wrong) > 0 {
			t.Errorf("%s: the name %v", title(object), wrong)
		}
		_, role := object.(*rbac.Role)
		_, binding := object.(*rbac.RoleBinding)
		if meta.GetNamespace() != namespace && !role && !binding {
			t.Errorf("%s is in the namespace %q", title(object), meta.GetNamespace())
		}
		if errs := metavalidation.ValidateLabels(meta.GetLabels(), field.NewPath("labels")); len(errs) > 0 {
			t.Errorf("%s: %v", title(object), errs)
		}
	}
	for _, p := range pods(all) {
		if errs := metavalidation.ValidateLabels(p.labels, field.NewPath("labels")); len(errs) > 0 {
			t.Errorf("%s: %v", p.name, errs)
		}
	}
}

// checkSelectors holds that each selector chooses one kind of pod, and a Service's port is one of it.
func checkSelectors(t *testing.T, all objects) {
	t.Helper()
	chosen := func(who string, selector map[string]string) pod {
		var found []pod
		for _, p := range pods(all) {
			if labels.SelectorFromSet(selector).Matches(labels.Set(p.labels)) {
				found = append(found, p)
			}
		}
		if len(selector) == 0 || len(found) != 1 {
			t.Fatalf("%s selects %d pods by %v", who, len(found), selector)
		}
		return found[0]
	}
	for _, d := range every[*apps.Deployment](all) {
		if p := chosen(title(d), d.Spec.Selector.MatchLabels); p.name != d.Name {
			t.Errorf("%s selects the pods of %s", title(d), p.name)
		}
	}
	for _, one := range every[*policy.PodDisruptionBudget](all) {
		chosen(title(one), one.Spec.Selector.MatchLabels)
	}
	for _, one := range every[*networking.NetworkPolicy](all) {
		chosen(title(one), one.Spec.PodSelector.MatchLabels)
	}
	for _, one := range every[*monitoring.PodMonitor](all) {
		p := chosen(title(one), one.Spec.Selector.MatchLabels)
		for _, endpoint := range one.Spec.PodMetricsEndpoints {
			checkPort(t, title(one), p, *endpoint.Port)
		}
	}
	for _, one := range every[*core.Service](all) {
		p := chosen(title(one), one.Spec.Selector)
		for _, port := range one.Spec.Ports {
			checkPort(t, title(one), p, port.TargetPort.StrVal)
			if admin := port.TargetPort.StrVal == "admin"; admin != strings.HasSuffix(one.Name, "-metrics") {
				t.Errorf("%s has the port %s of %s", title(one), port.TargetPort.StrVal, p.name)
			}
		}
	}
	for _, one := range every[*monitoring.ServiceMonitor](all) {
		services := slices.DeleteFunc(every[*core.Service](all), func(s *core.Service) bool {
			return !labels.SelectorFromSet(one.Spec.Selector.MatchLabels).Matches(labels.Set(s.Labels))
		})
		if len(services) != 1 || services[0].Spec.Ports[0].Name != one.Spec.Endpoints[0].Port {
			t.Errorf("%s selects the Services %v", title(one), services)
		}
	}
}

func checkPort(t *testing.T, who string, p pod, port string) {
	t.Helper()
	for _, c := range p.spec.Containers {
		if slices.ContainsFunc(c.Ports, func(one core.ContainerPort) bool { return one.Name == port }) {
			return
		}
	}
	t.Errorf("%s wants the port %q, which %s lacks", who, port, p.name)
}

// checkReferences holds that what names another object of the release names one that is there.
func checkReferences(t *testing.T, all objects) {
	t.Helper()
	services := map[string]*core.Service{}
	for _, one := range every[*core.Service](all) {
		services[one.Name] = one
	}
	for _, one := range every[*networking.Ingress](all) {
		for _, rule := range one.Spec.Rules {
			for _, path := range rule.HTTP.Paths {
				to := path.Backend.Service
				if s := services[to.Name]; s == nil || s.Spec.Ports[0].Name != to.Port.Name {
					t.Errorf("%s leads to %v", title(one), to)
				}
			}
		}
	}
	for _, one := range every[*gateway.HTTPRoute](all) {
		for _, rule := range one.Spec.Rules {
			for _, to := range rule.BackendRefs {
				if s := services[string(to.Name)]; s == nil || to.Port == nil || s.Spec.Ports[0].Port != int32(*to.Port) {
					t.Errorf("%s leads to %v", title(one), to)
				}
			}
		}
	}
	for _, one := range every[*autoscaling.HorizontalPodAutoscaler](all) {
		d := slices.IndexFunc(every[*apps.Deployment](all), func(d *apps.Deployment) bool { return d.Name == one.Spec.ScaleTargetRef.Name })
		if d < 0 || every[*apps.Deployment](all)[d].Spec.Replicas != nil {
			t.Errorf("%s scales %v, which is not there or has a number of replicas of its own", title(one), one.Spec.ScaleTargetRef)
		}
	}
}

// checkRoles holds that the edge's account may read what it looks for, where it looks for it, and nothing else.
func checkRoles(t *testing.T, all objects) {
	t.Helper()
	read := []string{"get", "list", "watch"}
	want := []rbac.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: read},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: read},
	}
	var namespaces []string
	for _, one := range every[*rbac.Role](all) {
		if namespaces = append(namespaces, one.Namespace); !reflect.DeepEqual(one.Rules, want) {
			t.Errorf("%s allows %v", title(one), one.Rules)
		}
	}
	for _, one := range every[*rbac.RoleBinding](all) {
		account := edgePod(t, all).spec.ServiceAccountName
		if !slices.Contains(namespaces, one.Namespace) || one.RoleRef.Kind != "Role" || len(one.Subjects) != 1 || one.Subjects[0].Name != account {
			t.Errorf("%s gives %v to %v, not to %s", title(one), one.RoleRef, one.Subjects, account)
		}
	}
}

// checkPod holds that a pod has no rights but those it needs, and each mount a volume. reads: it looks for Services.
func checkPod(t *testing.T, p pod, reads bool) {
	t.Helper()
	if token := p.spec.AutomountServiceAccountToken; token == nil || *token != reads {
		t.Errorf("%s has a token of its service account or has none: %v, and looks for Services: %v", p.name, token, reads)
	}
	if p.spec.EnableServiceLinks == nil || *p.spec.EnableServiceLinks {
		t.Errorf("%s has variables of Services, which may begin with MCPEDGE_", p.name)
	}
	if s := p.spec.SecurityContext; s == nil || s.RunAsUser == nil || *s.RunAsUser != 65532 {
		t.Errorf("%s does not run as user 65532: %v", p.name, s)
	}
	own := p.spec.Containers[0]
	if c := own.SecurityContext; c == nil || c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem {
		t.Errorf("%s can write to its root: %v", p.name, c)
	}
	restricted, err := security.NewEvaluator(security.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	alone := p.spec.DeepCopy() // without what a user adds
	alone.Containers, alone.InitContainers = alone.Containers[:1], nil
	level := admission.LevelVersion{Level: admission.LevelRestricted, Version: admission.LatestVersion()}
	for _, check := range restricted.EvaluatePod(level, &metav1.ObjectMeta{Labels: p.labels}, alone) {
		if !check.Allowed {
			t.Errorf("%s is not within the Pod Security Standard restricted: %s: %s", p.name, check.ForbiddenReason, check.ForbiddenDetail)
		}
	}
	paths := map[string]bool{}
	for _, mount := range own.VolumeMounts {
		if !slices.ContainsFunc(p.spec.Volumes, func(v core.Volume) bool { return v.Name == mount.Name }) {
			t.Errorf("%s mounts %s, of which it has no volume", p.name, mount.Name)
		}
		for path := range paths {
			if strings.HasPrefix(mount.MountPath+"/", path+"/") {
				t.Errorf("%s mounts %s within %s", p.name, mount.MountPath, path)
			}
		}
		paths[mount.MountPath] = true
	}
}

// A name of a release may be as long as Helm lets it be.
func TestLongName(t *testing.T) {
	r, err := render(t, `
fullnameOverride: a-name-that-is-as-long-as-helm-lets-names-of-releases-be-and-more
redis: {trial: {enabled: true}}
config: {admin: {allow-remote: true}}
serviceMonitor: {enabled: true}
dashboards: {enabled: true}
`)
	if err != nil {
		t.Fatal(err)
	}
	all := decode(t, r)
	checkNames(t, all)
	checkSelectors(t, all)
}
