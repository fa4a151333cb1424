package gatewayapi_test

import (
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// drop deletes the listener of a port, as a person does in the console.
func (w *world) drop(port int) {
	w.cloud.Change(func(c *state.Cloud) {
		maps.DeleteFunc(c.NLBListeners, func(_ string, l *state.NLBListener) bool { return l.Port == port })
	})
}

// TestWhoseEditAsksForALook: an edit of a Gateway reads nothing of what stays, and what was done in the cloud by hand is
// seen by the check for drift; a touch of its Service, as of any Service, asks for a look at once. An edit of the
// Service that is put back is a touch, too.
func TestWhoseEditAsksForALook(t *testing.T) {
	t.Parallel()
	touch := func(patch string) func(w *world) {
		return func(w *world) {
			if _, err := w.kube.CoreV1().Services("infra").Patch(w.t.Context(), nameOfNLB, types.MergePatchType, []byte(patch),
				metav1.PatchOptions{}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	annotated := gateway("nlb", tcp("a", 80)+","+tcp("b", 81),
		"  infrastructure: {annotations: {service.beta.kubernetes.io/alibaba-cloud-loadbalancer-idle-timeout: '70'}}")
	more := gateway("nlb", tcp("a", 80)+","+tcp("b", 81)+","+tcp("c", 82))
	for name, c := range map[string]struct {
		do   func(w *world)
		want []string
	}{
		"a listener more":        {func(w *world) { w.apply(more) }, []string{"81/tcp:", "82/tcp:"}},
		"an annotation":          {func(w *world) { w.apply(annotated) }, []string{"80/tcp:", "81/tcp:"}},
		"a touch of the Service": {touch(`{"metadata":{"annotations":{"touched":"1"}}}`), []string{"80/tcp:", "81/tcp:"}},
		"ports that are put back": {touch(`{"spec":{"ports":[{"name":"x","port":99,"protocol":"TCP"}]}}`),
			[]string{"80/tcp:", "81/tcp:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				w.start()
				w.apply(gateway("nlb", tcp("a", 80)+","+tcp("b", 81)))
				w.settle()
				w.drop(80)
				c.do(w)
				w.settle()
				w.expect(name, append([]string{"nlb Internet"}, c.want...)...)
			})
		})
	}
}

// TestListenerIsMadeByHand: what an edit of a Gateway would make, and somebody has made meanwhile, is found by the next look.
func TestListenerIsMadeByHand(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)))
		w.settle()
		w.cloud.Change(func(c *state.Cloud) {
			for id := range c.NLBs {
				c.NLBListeners["lsn-hand"] = &state.NLBListener{NLBID: id, Port: 81, Protocol: "TCP", Description: "mine", ServerGroupID: "sgp-hand"}
			}
			c.NLBServerGroups["sgp-hand"] = &state.NLBServerGroup{Name: "by-hand", VpcID: "vpc-test"}
		})
		w.apply(gateway("nlb", tcp("a", 80)+","+tcp("b", 81)))
		w.settle()
		w.want("gateways infra/gw", "Programmed", "False Invalid")
		w.drop(81)
		w.apply(gateway("nlb", tcp("a", 80)))
		w.settle()
		w.want("gateways infra/gw", "Programmed", "True Programmed")
	})
}
