package gatewayapi_test

import (
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubetesting "k8s.io/client-go/testing"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestResourcesComeLater: nothing happens without the custom resources, and all does a minute after they have come. What
// isn't installed, what has another version, and what can't be known are different things.
func TestResourcesComeLater(t *testing.T) {
	t.Parallel()
	const advice = "GatewayClass nlb: UnsupportedVersion install the custom resources of the Gateway API, 1.6 or later; these are missing: "
	for name, c := range map[string]struct {
		before func(w *world)
		says   string // the GatewayClass
		event  string
	}{
		"without them": {func(w *world) { w.serve() }, "False UnsupportedVersion",
			advice + "gatewayclasses, gateways, listenersets, tcproutes, udproutes, tlsroutes, referencegrants"},
		"with one of an older version": {func(w *world) { w.serve("v1alpha2", "v1") }, "False UnsupportedVersion",
			advice + "tcproutes (only v1alpha2)"},
		"without an answer": {func(w *world) { w.mute = true }, "nothing", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				c.before(w)
				w.apply(gateway("nlb", tcp("a", 80)))
				w.start()
				w.expect("nothing")
				w.want("gatewayclasses /nlb", "SupportedVersion", c.says)
				w.want("gatewayclasses /other", "SupportedVersion", "nothing")
				if got := w.events.Take(); c.event != "" && !slices.Contains(got, c.event) || c.event == "" && len(got) > 0 {
					t.Errorf("events %q", got)
				}
				w.serve("v1")
				w.mu.Lock()
				w.mute = false
				w.mu.Unlock()
				w.settle()
				w.settle()
				w.want("gatewayclasses /nlb", "SupportedVersion", "True SupportedVersion")
				w.want("gatewayclasses /nlb", "Accepted", "True Accepted")
				class, err := w.gateways.GatewayV1().GatewayClasses().Get(t.Context(), "nlb", metav1.GetOptions{})
				if err != nil || len(class.Status.SupportedFeatures) != 4 || class.Status.SupportedFeatures[2].Name != "TCPRoute" {
					t.Errorf("%v, %v", class, err)
				}
				w.expect("served", "nlb Internet", "80/tcp:")
			})
		})
	}
}

// TestNoClassesWithoutTheirResource: where GatewayClasses aren't installed they are asked for once, and not on and on.
func TestNoClassesWithoutTheirResource(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		asked := 0
		w.gateways.PrependReactor("list", "gatewayclasses", func(kubetesting.Action) (bool, runtime.Object, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			asked++
			return w.served == nil, nil, apierrors.NewNotFound(gatewayv1.Resource("gatewayclasses"), "")
		})
		w.serve()
		w.start()
		w.settle()
		w.mu.Lock()
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
		w.mu.Unlock()
		w.serve("v1")
		w.apply(gateway("nlb", tcp("a", 80)))
		w.settle()
		w.settle()
		w.expect("served", "nlb Internet", "80/tcp:")
	})
}
