package gatewayapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"alicloud-controllers.dev/services/gateway/gatewaytest"
)

func gateway(class, listeners string, more ...string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: infra}
spec:
  gatewayClassName: %s
  listeners: [%s]
%s`, class, listeners, strings.Join(more, "\n"))
}

func tcp(name string, port int) string {
	return fmt.Sprintf("{name: %s, protocol: TCP, port: %d, allowedRoutes: {namespaces: {from: All}}}", name, port)
}

func route(name, namespace, section, backends string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: %s, namespace: %s, creationTimestamp: "%s"}
spec:
  parentRefs: [{name: gw, namespace: infra, sectionName: %s}]
  rules: [{backendRefs: [%s]}]
`, name, namespace, time.Now().UTC().Format(time.RFC3339), section, backends)
}

const grant = `apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: to-red, namespace: blue}
spec:
  from: [{group: gateway.networking.k8s.io, kind: TCPRoute, namespace: red}]
  to: [{group: "", kind: Service, name: db}]
`

// TestTwoTeams: two namespaces on one NLB; each comes and goes without a call about the other, and what each step costs.
func TestTwoTeams(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		w.apply(gateway("nlb", tcp("red", 80)+","+tcp("blue", 3306)))
		w.settle()
		w.expect("a Gateway", "nlb Internet", "80/tcp:", "3306/tcp:")
		w.want("gateways infra/gw", "Programmed", "True Programmed")
		w.settled("a Gateway")

		w.apply(route("web", "red", "red", "{name: web, port: 80}"))
		w.settle()
		w.expect("a route", "nlb Internet", "80/tcp: eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100", "3306/tcp:")
		w.want("tcproutes red/web", "Accepted", "True Accepted")
		w.called("a route", "ApplyServerChanges BatchGetNetworkInterfaces")
		w.apply(route("db", "blue", "blue", "{name: db, port: 3306}"))
		w.settle()
		w.called("another team's route", "ApplyServerChanges BatchGetNetworkInterfaces")
		teams := []string{"nlb Internet", "80/tcp: eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100", "3306/tcp: eni-10.0.1.1:3306=100"}
		w.expect("another team's route", teams...)
		w.settled("two teams")

		w.apply(gateway("nlb", tcp("red", 80)+","+tcp("blue", 3306)+","+tcp("more", 8080)))
		w.settle()
		w.expect("a listener more", append(slices.Clone(teams), "8080/tcp:")...)
		// It is ten minutes since the pods' network interfaces were read.
		w.called("a listener more", "BatchGetNetworkInterfaces CreateListener CreateServerGroup")
		w.apply(route("most", "red", "most", "{name: web, port: 80}"))
		w.settle() // Otherwise a pass may see the listener before its route, which costs ApplyServerChanges.
		w.apply(gateway("nlb", tcp("red", 80)+","+tcp("blue", 3306)+","+tcp("more", 8080)+","+tcp("most", 8081)))
		w.settle()
		w.expect("a route with its listener", append(slices.Clone(teams), "8080/tcp:",
			"8081/tcp: eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100")...)
		// The port of the Service may come before its slices, or after them.
		w.called("a route with its listener", "CreateListener CreateServerGroup",
			"ApplyServerChanges CreateListener CreateServerGroup")
		w.remove("tcproutes red/most")
		w.settle()
		w.calls()
		both := strings.Replace(route("web", "red", "red", "{name: web, port: 80}"), "parentRefs: [",
			"parentRefs: [{name: gw, namespace: infra, sectionName: renamed}, ", 1)
		w.apply(both) // A pass between two edits that belong together would take the servers away.
		w.settle()
		w.apply(gateway("nlb", tcp("renamed", 80)+","+tcp("blue", 3306)))
		w.settle()
		w.expect("a listener less, and another name", teams...)
		w.costs("a listener less, and another name", "DeleteListener DeleteListener DeleteServerGroup DeleteServerGroup")
		w.remove("tcproutes red/web")
		w.settle()
		w.called("a route goes", "ApplyServerChanges")
		w.expect("a route goes", "nlb Internet", "80/tcp:", "3306/tcp: eni-10.0.1.1:3306=100")
		w.settled("the end")
	})
}

// look is how an NLB is read.
const look = "GetLoadBalancer ListListeners ListServerGroups"

// called compares the calls to the cloud since the last time, each write as often as it was made, and reads once: how often
// depends on whether the Service or its slices come first. So does whether a look reads a server group by itself, which is
// not compared where there is a look. Of several that are wanted, one is right.
func (w *world) called(what string, want ...string) {
	w.t.Helper()
	made, got := w.cloud.Calls(), strings.Fields(w.calls())
	if strings.Contains(want[0], look) {
		got = slices.DeleteFunc(got, func(name string) bool { return name == "GetServerGroup" })
	}
	got = slices.CompactFunc(got, func(a, b string) bool {
		return a == b && (strings.HasPrefix(a, "Get") || strings.HasPrefix(a, "List"))
	})
	isRight := func(calls string) bool { return slices.Equal(got, slices.Sorted(strings.FieldsSeq(calls))) }
	if !slices.ContainsFunc(want, isRight) {
		w.t.Errorf("%s costs %q, want %q: %v", what, got, want, made)
	}
}

// aStep is what a step of a canary with two backends takes: one call, or two where a pass comes between the slice of the
// one and that of the other.
var aStep = []string{"ApplyServerChanges", "ApplyServerChanges ApplyServerChanges"}

// TestRouteOfManyGateways: the status of a route names its Gateways in one order, whichever the cache gives, so that a pass in which
// nothing changes writes nothing.
func TestRouteOfManyGateways(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		parents := ""
		for _, name := range []string{"gw", "gw-b", "gw-c", "gw-d", "gw-e"} {
			w.apply(strings.Replace(gateway("nlb", tcp("a", 80)), "name: gw,", "name: "+name+",", 1))
			parents += "{name: " + name + ", namespace: infra}, "
		}
		w.apply(strings.Replace(route("web", "red", "a", "{name: web, port: 80}"), "{name: gw, namespace: infra, sectionName: a}", parents, 1))
		w.settle()
		for i := range 5 {
			w.writes.Take()
			w.apply(route("other", "red", fmt.Sprint("none-", i), "{name: web, port: 80}")) // It wants a listener that there isn't.
			w.settle()
			if n := len(slices.DeleteFunc(w.writes.Take(), func(write string) bool { return write != "update tcproutes/status" })); n > 1 {
				t.Errorf("%d writes for one route", n)
			}
		}
	})
}

// TestPortOfAnotherTeam: a route takes a listener that another one has; the older keeps it, and the other waits for its turn.
func TestPortOfAnotherTeam(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)))
		w.apply(route("web", "red", "a", "{name: web, port: 80}"))
		w.settle()
		if got := w.events.Take(); len(got) > 0 {
			t.Errorf("nothing is wrong, and what passes is no event: %q", got)
		}
		w.apply(route("db", "blue", "a", "{name: db, port: 3306}"))
		w.settle()
		w.expect("two want it", "nlb Internet", "80/tcp: eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100")
		w.want("tcproutes blue/db", "Accepted", "True Accepted")
		if got := w.events.Take(); !slices.Contains(got, "TCPRoute db: Accepted Gateway gw: listener a serves TCPRoute red/web, which is older") {
			t.Errorf("events %q", got)
		}
		w.settled("two want it")
		w.remove("tcproutes red/web")
		w.settle()
		w.expect("the older goes", "nlb Internet", "80/tcp: eni-10.0.1.1:3306=100")
	})
}

// TestGrantIsWithdrawn: what a ReferenceGrant let in gets no traffic without it.
func TestGrantIsWithdrawn(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)+","+tcp("b", 81)))
		w.apply(grant)
		w.apply(route("db", "red", "a", "{name: db, namespace: blue, port: 3306}"))
		w.apply(route("web", "red", "b", "{name: web, port: 80}"))
		w.settle()
		w.expect("granted", "nlb Internet", "80/tcp: eni-10.0.1.1:3306=100", "81/tcp: eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100")
		w.want("tcproutes red/db", "ResolvedRefs", "True ResolvedRefs")
		w.remove("referencegrants blue/to-red")
		w.settle()
		w.expect("withdrawn", "nlb Internet", "80/tcp:", "81/tcp: eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100")
		w.want("tcproutes red/db", "ResolvedRefs", "False RefNotPermitted")
		w.apply(grant)
		w.settle()
		w.expect("granted again", "nlb Internet", "80/tcp: eni-10.0.1.1:3306=100",
			"81/tcp: eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100")
	})
}

// TestCanary moves traffic by weights, which are the only thing that changes in the cloud.
func TestCanary(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)))
		w.apply(grant)
		for _, step := range []struct {
			web, db int
			want    string
		}{
			{1, 0, "80/tcp: eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100 eni-10.0.1.1:3306=0"},
			{90, 10, "80/tcp: eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100 eni-10.0.1.1:3306=22"},
			{50, 50, "80/tcp: eni-10.0.0.1:8080=50 eni-10.0.0.2:8080=50 eni-10.0.1.1:3306=100"},
			{0, 1, "80/tcp: eni-10.0.0.1:8080=0 eni-10.0.0.2:8080=0 eni-10.0.1.1:3306=100"},
		} {
			w.apply(route("web", "red", "a",
				fmt.Sprintf("{name: web, port: 80, weight: %d}, {name: db, namespace: blue, port: 3306, weight: %d}", step.web, step.db)))
			w.settle()
			w.expect(fmt.Sprint(step), "nlb Internet", step.want)
			if step.db == 0 {
				w.calls()
				continue
			}
			w.called(fmt.Sprint(step), aStep...)
		}
		w.settled("the end")
	})
}

// TestGatewayIsDeleted: its load balancer goes, and its routes have nothing of it any more.
func TestGatewayIsDeleted(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)))
		w.apply(route("web", "red", "a", "{name: web, port: 80}"))
		w.settle()
		w.want("tcproutes red/web", "Accepted", "True Accepted")
		w.remove("gateways infra/gw")
		w.settle()
		w.expect("gone")
		w.want("tcproutes red/web", "Accepted", "nothing")
		if left := w.slices("infra"); len(left) > 0 {
			t.Errorf("slices are left: %v", left)
		}
		w.settled("gone")
	})
}

// TestOtherClass: a Gateway that gets another kind of load balancer, or another controller, has its first one deleted.
func TestOtherClass(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)))
		w.settle()
		w.apply(gateway("clb", tcp("a", 80)))
		w.settle()
		w.expect("of the other kind", "clb")
		w.apply(gateway("gone", tcp("a", 80)))
		w.settle()
		w.expect("a class that isn't there", "clb")
		w.apply(gateway("other", tcp("a", 80)))
		w.settle()
		w.expect("of another controller")
	})
}

// TestNothingThatCanBeMade: a mistake in a Gateway leaves its load balancer as it is.
func TestNothingThatCanBeMade(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)))
		w.apply(route("web", "red", "a", "{name: web, port: 80}"))
		w.settle()
		for _, mistake := range []string{
			gateway("nlb", "{name: a, protocol: HTTPS, port: 80}"),
			gateway("nlb", tcp("a", 80), "  addresses: [{type: Hostname, value: a.example.com}]"),
		} {
			w.apply(mistake)
			w.settle()
			w.expect(mistake, "nlb Internet", "80/tcp: eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100")
			w.want("gateways infra/gw", "Programmed", "False Invalid")
		}
	})
}

// TestNodesAreServers: kube-proxy does the rest; a backend of weight 0 has no slice.
func TestNodesAreServers(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.nodes = true
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)))
		w.apply(grant)
		w.apply(route("web", "red", "a", "{name: web, port: 80}, {name: db, namespace: blue, port: 3306, weight: 0}"))
		w.settle()
		if got := w.cloudHas(); len(got) != 2 || !strings.HasPrefix(got[0], "80/tcp: i-1:3") {
			t.Errorf("%q", got)
		}
		if list := w.slices("infra"); len(list) != 1 || len(list[0].Endpoints) != 2 || *list[0].Ports[0].Port != 8080 {
			t.Errorf("slices %v", list)
		}
	})
}

// TestEditsByHand: what somebody changes on the Service of a Gateway is put right; what the Gateway doesn't say anything of stays.
func TestEditsByHand(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		annotated := func(text string) string {
			return gateway("nlb", tcp("a", 80), "  infrastructure: {labels: {team: x}, annotations: {"+text+"}}")
		}
		w.apply(annotated("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-address-type: intranet"))
		w.settle()
		services := w.kube.CoreV1().Services("infra")
		list, err := services.List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 {
			t.Fatal(list, err)
		}
		name := list.Items[0].Name
		edit := func(patch string) {
			t.Helper()
			if _, err := services.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			w.settle()
		}
		edit(`{"metadata":{"labels":{"team":"y","mine":"1"}},"spec":{"selector":{"app":"x"},"ports":[{"name":"x","port":81}]}}`)
		svc, err := services.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || svc.Labels["team"] != "x" || svc.Labels["mine"] != "1" || len(svc.Spec.Selector) > 0 || svc.Spec.Ports[0].Port != 80 {
			t.Errorf("%v, %v", svc, err)
		}
		w.expect("edited", "nlb Intranet", "80/tcp:")
		w.apply(annotated(""))
		w.settle()
		if svc, err = services.Get(t.Context(), name, metav1.GetOptions{}); err != nil ||
			svc.Annotations["service.beta.kubernetes.io/alibaba-cloud-loadbalancer-address-type"] != "" {
			t.Errorf("the annotation is still there: %v, %v", svc.Annotations, err)
		}
		w.settled("edited")
	})
}

// TestServiceInTheWay: a Service that was not made for the Gateway is left alone.
func TestServiceInTheWay(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "gw-gw-ccf4c4e121", UID: "theirs"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
		if err := w.kube.Tracker().Add(theirs); err != nil {
			t.Fatal(err)
		}
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)))
		w.settle()
		w.want("gateways infra/gw", "Programmed", "False Invalid")
		svc, err := w.kube.CoreV1().Services("infra").Get(t.Context(), theirs.Name, metav1.GetOptions{})
		if err != nil || svc.Spec.Ports[0].Port != 1 || len(svc.Labels) > 0 {
			t.Errorf("%v, %v", svc, err)
		}
		w.expect("nothing")
	})
}

// TestOneBadCertificate: a listener whose Secret is missing holds up no other.
func TestOneBadCertificate(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)+", {name: b, protocol: TLS, port: 443, tls: {certificateRefs: [{name: gone}]}}"))
		w.apply(route("web", "red", "a", "{name: web, port: 80}"))
		w.settle()
		w.expect("one listener", "nlb Internet", "80/tcp: eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100")
	})
}

// TestOtherControllersOnARoute: what they say stays.
func TestOtherControllersOnARoute(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)))
		w.apply(route("web", "red", "a", "{name: web, port: 80}") + `status:
  parents: [{parentRef: {name: theirs}, controllerName: example.com/other, conditions: []}, {
    parentRef: {name: gw, namespace: infra, sectionName: a}, controllerName: example.com/other, conditions: [
      {type: Theirs, status: "True", reason: X, message: x, lastTransitionTime: "2026-01-01T00:00:00Z"}]}]
`)
		w.settle()
		obj, err := w.gateways.Tracker().Get(resourceOf("tcproutes"), "red", "web")
		if err != nil {
			t.Fatal(err)
		}
		if parents := obj.(*gatewayv1.TCPRoute).Status.Parents; len(parents) != 3 || parents[0].ControllerName != "example.com/other" ||
			len(parents[1].Conditions) != 1 || len(parents[2].Conditions) != 2 {
			t.Errorf("%v", parents)
		}
		w.remove("gateways infra/gw")
		w.settle()
		obj, err = w.gateways.Tracker().Get(resourceOf("tcproutes"), "red", "web")
		if err != nil {
			t.Fatal(err)
		}
		if parents := obj.(*gatewayv1.TCPRoute).Status.Parents; len(parents) != 2 {
			t.Errorf("%v", parents)
		}
	})
}

// TestCrashAtEveryCall: wherever the process dies, the next one brings the story to the same end: before the call, or after its effect.
func TestCrashAtEveryCall(t *testing.T) {
	t.Parallel()
	steps := []struct {
		name string
		do   func(w *world)
		want []string
	}{
		{"made", func(w *world) {
			w.apply(gateway("nlb", tcp("a", 80)+","+tcp("b", 81)))
			w.apply(grant)
			w.apply(route("web", "red", "a", "{name: web, port: 80, weight: 1}, {name: db, namespace: blue, port: 3306, weight: 1}"))
		}, []string{"nlb Internet", "80/tcp: eni-10.0.0.1:8080=50 eni-10.0.0.2:8080=50 eni-10.0.1.1:3306=100", "81/tcp:"}},
		{"moved", func(w *world) {
			w.apply(gateway("nlb", tcp("a", 82)))
			w.remove("referencegrants blue/to-red")
		}, []string{"nlb Internet", "82/tcp: eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100"}},
		{"gone", func(w *world) { w.remove("gateways infra/gw") }, nil},
	}
	for dying := range steps {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, with effect %t", steps[dying].name, after), func(t *testing.T) {
				t.Parallel()
				n := gatewaytest.From(len(t.Name()), 4)
				for died := true; died && n < 100; n += gatewaytest.Every(4) {
					play(t, func(w *world) {
						w.start()
						for i, step := range steps {
							if i == dying {
								w.crash.At(n, after)
							}
							step.do(w)
							w.settle()
							if i == dying {
								w.stop()
								died = w.crash.Over()
								w.start()
								w.settle()
							}
							w.expect(fmt.Sprintf("call %d: %s", n, step.name), step.want...)
						}
						w.settled(fmt.Sprintf("call %d", n))
					})
				}
				if n < 5 {
					t.Errorf("only %d calls", n)
				}
				t.Logf("%d calls", n)
			})
		}
	}
}
