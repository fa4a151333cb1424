package lb_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// The tests of this file each name a bug of the existing CCM that showed at the level of a controller, and hold us to the right
// behaviour. Bugs that concern one decision have theirs beside it, in build, plan, observe, config, and in services.

// The existing CCM keeps the CLB but deletes what is in it, and takes "false" for a yes.
func TestB03PreserveOnDelete(t *testing.T) {
	for value, kept := range map[string]int{"on": 1, "true": 1, "false": 0, "off": 0} {
		t.Run(value, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.create(web(annotated(annotation.PreserveOnDelete, value)))
				w.calls()
				w.remove()
				check(t, "instances", kept, len(w.instances()))
				check(t, "listeners", kept, len(w.listeners()))
				check(t, "servers", kept, len(w.servers()))
				check(t, "finalizers", 0, len(w.service().Finalizers))
				if kept == 1 {
					lb := w.instances()[0]
					check(t, "protection", false, lb.GetDeleteProtection() || lb.GetModificationProtection().GetEnabled())
					check(t, "tags", 0, len(lb.GetTags()))
					check(t, "calls", []string{"GetLoadBalancer", "UpdateLoadBalancer"}, w.calls())
				}
			})
		})
	}
}

// The existing CCM keeps its token for ever and would be answered the dead instance.
func TestB05ReplacesAnInstanceThatIsGone(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		dead := w.service().Labels[LabelLoadBalancerID]
		w.stop()
		w.cloud.Lock()
		clear(w.cloud.LoadBalancers)
		clear(w.cloud.Listeners)
		clear(w.cloud.ServerGroups)
		w.cloud.Unlock()
		w.events.take()
		w.start()
		check(t, "not recreated while there is an address", 0, len(w.instances()))
		check(t, "events", []string{"SyncLoadBalancerFailed"}, w.events.reasons())
		w.update(func(svc *corev1.Service) { svc.Status = corev1.ServiceStatus{} })
		check(t, "instances", 1, len(w.instances()))
		if id := w.service().Labels[LabelLoadBalancerID]; id == dead || id == "" {
			t.Errorf("id label is %q, the dead instance was %q", id, dead)
		}
	})
}

// The existing CCM ignores a class that is added to a live Service, and leaks the CLB at its next start. Here it goes
// once that is confirmed.
func TestB06ClassOnALiveServiceReleases(t *testing.T) {
	for name, change := range map[string]func(*corev1.Service){
		"class":       func(svc *corev1.Service) { svc.Annotations = map[string]string{annotation.Class: "other"} },
		"tunnel type": func(svc *corev1.Service) { svc.Annotations = map[string]string{annotation.TunnelType: "x"} },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.create(web())
				w.update(change)
				check(t, "instances before the confirmation", 1, len(w.instances()))
				w.update(func(svc *corev1.Service) { svc.Annotations[annotation.ConfirmRelease] = "true" })
				check(t, "instances", 0, len(w.instances()))
				check(t, "finalizers", 0, len(w.service().Finalizers))
			})
		})
		t.Run(name+" while deleted", func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.create(web())
				w.stop()
				w.update(change)
				w.remove()
				w.start()
				check(t, "instances", 0, len(w.instances()))
				check(t, "finalizers", 0, len(w.service().Finalizers))
			})
		})
	}
}

// The existing CCM runs deletion and creation side by side when a redirect moves.
func TestB07RedirectMoves(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		ports := func(svc *corev1.Service) {
			for _, p := range []int32{443, 444} {
				svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", p), Port: p, NodePort: 30000 + p,
					Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(1)})
			}
			svc.Spec.Ports = svc.Spec.Ports[:2]
		}
		w.create(web(ports, annotated(annotation.ProtocolPort, "http:80,https:443"), annotated(annotation.CertID, "cert-1"),
			annotated(annotation.ForwardPort, "80:443")))
		check(t, "listeners", []string{"443/HTTPS", "80/HTTP"}, w.listeners())
		w.calls()
		w.update(func(svc *corev1.Service) {
			svc.Spec.Ports[1].Port = 444
			annotated(annotation.ProtocolPort, "http:80,https:444")(svc)
			annotated(annotation.ForwardPort, "80:444")(svc)
		})
		check(t, "listeners", []string{"444/HTTPS", "80/HTTP"}, w.listeners())
		check(t, "calls", []string{"GetLoadBalancer", "CreateListener", "DeleteListener", "DeleteListener", "CreateListener"}, w.calls())
		check(t, "failures", []string{"EnsuredLoadBalancer", "AnnotationChanged", "EnsuredLoadBalancer"}, w.events.reasons())
	})
}

// In the existing CCM the switch blocks deletion and every change of what exists.
func TestB08DisabledPublicBlocksOnlyCreation(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.config = func(c *settings) { c.CLB.DisablePublic = true }
		w.restart()
		w.addNode(2)
		w.settle()
		check(t, "servers", 2, len(w.servers()))
		w.remove()
		check(t, "instances", 0, len(w.instances()))
	})
	inWorld(t, 1, func(w *world) {
		w.config = func(c *settings) { c.CLB.DisablePublic = true }
		w.restart()
		w.create(web())
		check(t, "calls", []string(nil), w.calls())
		check(t, "events", []string{"SyncLoadBalancerFailed"}, w.events.reasons())
		w.update(annotated(annotation.AddressType, "intranet"))
		check(t, "instances", 1, len(w.instances()))
	})
}

// The existing CCM removes every tag that it doesn't know.
func TestB09ForeignTagsStay(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.AdditionalTags, "team=blue")))
		lb := w.instances()[0]
		w.cloud.Lock()
		stored := w.cloud.LoadBalancers[lb.GetLoadBalancerId()]
		stored.Tags = append(stored.Tags, tag("owner", "alice"))
		w.cloud.Unlock()
		w.stop()
		w.start()
		w.update(annotated(annotation.AdditionalTags, "team=red, stage=prod"))
		got := map[string]string{}
		for _, t := range w.instances()[0].GetTags() {
			got[t.GetKey()] = t.GetValue()
		}
		check(t, "tags", map[string]string{
			"kubernetes.do.not.delete": instance, "ack.aliyun.com": clusterID, "team": "red", "stage": "prod", "owner": "alice",
		}, got)
	})
}

// TestB09OwnTagsGoWithTheAnnotation: what the annotation added goes with it, what others added stays.
func TestB09OwnTagsGoWithTheAnnotation(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.AdditionalTags, "team=blue,stage=prod")))
		w.addTag("owner", "alice")
		check(t, "note", "stage,team", w.service().Annotations[annotation.OwnTags])
		w.restart() // What is remembered has not seen the foreign tag.
		w.update(annotated(annotation.AdditionalTags, "team=blue"))
		check(t, "tags", map[string]string{"team": "blue", "owner": "alice"}, w.tags())
		w.calls()
		w.update(untagged)
		check(t, "calls", []string{"GetLoadBalancer", "UpdateLoadBalancer"}, w.calls())
		check(t, "tags", map[string]string{"owner": "alice"}, w.tags())
		_, noted := w.service().Annotations[annotation.OwnTags]
		check(t, "noted", false, noted)
	})
}

// TestB13NoAnnotationBlocksDeletion: in the existing CCM a malformed vgroup-port does.
func TestB13NoAnnotationBlocksDeletion(t *testing.T) {
	for key, value := range map[string]string{
		annotation.VGroupPort: "rsp-1", annotation.Scheduler: "fastest", annotation.Weight: "much", annotation.CertID: " ",
		annotation.DomainExtensions: "a", annotation.ProtocolPort: "gopher:70",
	} {
		t.Run(key, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.create(web())
				w.update(annotated(key, value))
				w.restart()
				w.remove()
				check(t, "instances", 0, len(w.instances()))
				check(t, "finalizers", 0, len(w.service().Finalizers))
			})
		})
	}
}

// The existing CCM doesn't react to taints and provider ids, and reacts to every label for all Services.
func TestB19NodeEvents(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.create(web())
		w.calls()
		w.updateNode(1, func(n *corev1.Node) { n.Labels = map[string]string{"note": "x"} })
		check(t, "a label that decides nothing", []string(nil), w.calls())
		w.updateNode(1, func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}}
		})
		check(t, "a taint", []string{"ApplyServerChanges"}, w.calls())
		w.updateNode(2, func(n *corev1.Node) { n.Spec.ProviderID = "" })
		check(t, "a provider id", []string{"ApplyServerChanges"}, w.calls())
		check(t, "servers", []string{"i-3:30080=100"}, w.servers())
	})
}

// TestB21CertificateAnnotationGoes: the existing CCM asks the cloud for the certificate called "". The listener keeps the one it has.
func TestB21CertificateAnnotationGoes(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.ProtocolPort, "https:80"), annotated(annotation.CertID, "cert-1")))
		w.calls()
		w.events.take()
		w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.CertID) })
		check(t, "calls", []string(nil), w.calls())
		check(t, "events", []string{"AnnotationChanged", "SyncLoadBalancerFailed"}, w.events.reasons())
		check(t, "listeners", []string{"80/HTTPS"}, w.listeners())
		w.addNode(2)
		w.settle()
		check(t, "calls for a node", []string{"ApplyServerChanges"}, w.calls())
	})
}

// In the existing CCM the counters of failures and updates stay at zero.
func TestB25Metrics(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.update(annotated(annotation.Scheduler, "wrr"))
		w.update(annotated(annotation.Scheduler, "broken"))
		w.remove()
		want := map[string]float64{"Creation Success": 1, "Update Success": 1, "Update Fail": 1, "Deletion Success": 1}
		got := map[string]float64{}
		families, err := w.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() != "ccm_slb_operation_result" {
				continue
			}
			for _, m := range family.GetMetric() {
				labels := map[string]string{}
				for _, l := range m.GetLabel() {
					labels[l.GetName()] = l.GetValue()
				}
				got[labels["verb"]+" "+labels["status"]] = m.GetCounter().GetValue()
			}
		}
		check(t, "results", want, got)
	})
}

// The existing CCM emits an event at every reconcile.
func TestB26EventsOnChangeOnly(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		w.create(web(annotated(annotation.PreserveOnDelete, "on")))
		check(t, "events", []string{"EnsuredLoadBalancer", "UnAvailableLoadBalancer", "PreservedOnDelete"}, w.events.reasons())
		w.update(func(svc *corev1.Service) { svc.Labels["x"] = "y" })
		check(t, "events", []string(nil), w.events.reasons())
	})
}

// TestB30NamedCLBDoesNotHideTheOwnOne: the existing CCM forgets the CLB it made when the Service names another one later.
func TestB30NamedCLBDoesNotHideTheOwnOne(t *testing.T) {
	for _, restart := range []bool{false, true} {
		inWorld(t, 1, func(w *world) {
			w.create(web())
			w.cloud.Lock()
			w.cloud.LoadBalancers[usersLB] = &slbv1.LoadBalancer{LoadBalancerId: usersLB, Name: "mine", Address: "47.9.9.9"}
			w.cloud.Unlock()
			w.update(annotated(annotation.ID, usersLB))
			if restart {
				w.restart()
			}
			w.remove()
			check(t, "instances", 1, len(w.instances()))
			check(t, "the one left", usersLB, w.instances()[0].GetLoadBalancerId())
			check(t, "finalizers", 0, len(w.service().Finalizers))
		})
	}
}

// In the existing CCM an unchanged hash hides every drift.
func TestB31DriftIsRepaired(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.cloud.Lock()
		for k := range w.cloud.Listeners {
			delete(w.cloud.Listeners, k)
		}
		w.cloud.Unlock()
		w.after(6 * time.Hour)
		check(t, "listeners", []string{"80/TCP"}, w.listeners())
	})
}
