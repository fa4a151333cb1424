package gatewayapi_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// recipe is the manifest of docs/gateway-api-routes.md that has a text.
func recipe(t *testing.T, part string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/gateway-api-routes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)\n```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(block[1], part) {
			return block[1]
		}
	}
	t.Fatalf("the page has no manifest with %q", part)
	return ""
}

// team is a namespace with a Service of one pod.
func team(namespace, service, address string, port int) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata: {name: %[1]s, labels: {team: %[1]s}}
---
apiVersion: v1
kind: Service
metadata: {name: %[2]s, namespace: %[1]s}
spec: {ports: [{name: p, port: %[4]d}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[2]s-1, namespace: %[1]s, labels: {kubernetes.io/service-name: %[2]s}}
addressType: IPv4
ports: [{name: p, port: 9000, protocol: TCP}]
endpoints: [{addresses: [%[3]s]}]
`, namespace, service, address, port)
}

// TestRecipes applies the manifests of the page: one NLB of ten teams, each of which opens a port of its own, and a
// canary by weights, whose steps are one call or two.
func TestRecipes(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.nodes = true // The manifest asks for pods.
		w.start()
		w.apply(recipe(t, "kind: GatewayClass"))
		w.apply(recipe(t, "kind: Gateway\n"))
		want := []string{"nlb Internet", "80/tcp: eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100", "3306/tcp:"}
		for i := range 10 {
			name := fmt.Sprintf("green%d", i)
			w.apply(team(name, "amqp", "10.0.2.1", 5672))
			w.apply(strings.NewReplacer("green", name, "port: 5672}]\n---", fmt.Sprintf("port: %d}]\n---", 7000+i)).Replace(
				recipe(t, "kind: ListenerSet")))
			want = append(want, fmt.Sprintf("%d/tcp: eni-10.0.2.1:9000=100", 7000+i))
		}
		w.settle()
		w.expect("ten teams", slices.Clone(want)...)
		w.want("listenersets green9/green9", "Accepted", "True Accepted")
		w.want("tcproutes green9/amqp", "ResolvedRefs", "True ResolvedRefs")
		w.settled("ten teams")
		if got := w.events.Take(); len(got) > 0 {
			t.Errorf("nothing is wrong, and what passes is no event: %q", got)
		}

		w.apply(team("red", "web-next", "10.0.1.1", 80))
		w.apply(recipe(t, "web-next"))
		w.settle()
		canary := slices.Clone(want)
		canary[1] = "80/tcp: eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100 eni-10.0.1.1:9000=11"
		w.expect("a canary", slices.Clone(canary)...)
		w.calls()
		w.apply(strings.NewReplacer("weight: 95", "weight: 50", "weight: 5}", "weight: 50}").Replace(recipe(t, "web-next")))
		w.settle()
		canary[1] = "80/tcp: eni-10.0.0.1:8080=50 eni-10.0.0.2:8080=50 eni-10.0.1.1:9000=100"
		w.expect("a step", canary...)
		w.called("a step", aStep...)
	})
}
