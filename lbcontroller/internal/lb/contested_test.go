package lb_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// flipping is a kind whose plans are the reverse of the last ones, by a fault of its own.
type flipping struct{ lb.Product }

func (f flipping) Update(d *model.Desired, o model.Observed) ([]plan.Action, []string) {
	actions, refused := f.Product.Update(d, o)
	tag := &commonv1.Tag{Key: "team", Value: "a"}
	if o.Tags()["team"] == "a" {
		tag.Value = "b"
	}
	return append(actions, f.Tagged(nil, tag)), refused
}

// TestPlanThatIsTheReverseOfTheLast: a fault by which each pass takes back what the last one did costs few calls, and is told. Servers
// follow nodes meanwhile, and a change of the Service is made.
func TestPlanThatIsTheReverseOfTheLast(t *testing.T) {
	for _, kind := range []string{"CLB", "NLB"} {
		t.Run(kind, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				config := w.config
				w.config = func(c *settings) {
					config(c)
					product := lb.Product(c.CLB)
					if kind == "NLB" {
						product = nlb.Product{Gateway: c.Kind.Gateway, VPCID: "vpc-test", VSwitchIDs: []string{"vsw-h", "vsw-i"}}
					}
					cfg := c.Kind
					cfg.Product = flipping{product}
					c.Controller.Kinds = []controller.Registration{lb.New(cfg)}
				}
				w.cloud.Lock()
				addZones(w.cloud.Cloud)
				w.cloud.Unlock()
				w.restart()
				w.create(web(func(svc *corev1.Service) {
					if kind == "NLB" {
						svc.Spec.LoadBalancerClass = new(annotation.NLBClass)
					}
				}))
				tags := func() int {
					return len(w.cloud.CallsOf("UpdateLoadBalancer")) + len(w.cloud.CallsOf("nlb.UpdateLoadBalancer"))
				}
				for i := range 60 {
					w.after(time.Minute)
					w.update(func(svc *corev1.Service) { svc.Annotations = map[string]string{"example.com/touched": strconv.Itoa(i)} })
				}
				if n := tags(); n < 4 || n > 16 {
					t.Errorf("%d changes in an hour in which the Service is touched each minute, want 4 to 16", n)
				}
				said := false
				for _, c := range w.service().Status.Conditions {
					said = said || c.Type == controller.ConditionSynced && c.Status == "False" && strings.Contains(c.Message, "again and again") &&
						strings.Contains(c.Message, "tags")
				}
				if !said {
					t.Errorf("conditions are %v", w.service().Status.Conditions)
				}
				w.addNode(3)
				w.settle()
				check(t, "servers", 1, len(w.cloud.CallsOf("ApplyServerChanges"))+len(w.cloud.CallsOf("nlb.ApplyServerChanges")))
				before := tags()
				w.update(annotated(annotation.Scheduler, "wlc"))
				check(t, "changes of the scheduler", 1, len(w.cloud.CallsOf("UpdateListener"))+len(w.cloud.CallsOf("nlb.UpdateServerGroup")))
				if n := tags() - before; n > 6 {
					t.Errorf("%d changes of tags with another one", n)
				}
			})
		})
	}
}
