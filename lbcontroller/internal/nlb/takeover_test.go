package nlb_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// marks are the tags of the existing CCM.
func marks() []state.Tag {
	return []state.Tag{{Key: ownership.TagService, Value: mark}, {Key: ownership.TagCluster, Value: clusterID}}
}

// byCCM puts into the cloud what the existing CCM has made for a Service of which each port has such a protocol, and
// returns the Service as it left it.
func (w *world) byCCM(svc *corev1.Service, protocols ...string) *corev1.Service {
	protected := state.NLBProtection{On: true, Reason: "managed.by.ack"}
	made := state.Cloud{
		NLBs: map[string]*state.NLB{"nlb-ccm": {Name: mark, VpcID: "vpc-test", AddressType: "Internet", Tags: marks(), Deletion: protected,
			Modification: protected, Zones: []*state.NLBZone{{ZoneID: "cn-hangzhou-h", VSwitchID: "vsw-h"},
				{ZoneID: "cn-hangzhou-i", VSwitchID: "vsw-i"}}}},
		NLBListeners: map[string]*state.NLBListener{}, NLBServerGroups: map[string]*state.NLBServerGroup{},
	}
	for i, port := range svc.Spec.Ports {
		protocol := protocols[i]
		name := fmt.Sprintf("k8s.%d.%s.web.default.%s", port.NodePort, protocol, clusterID)
		group := &state.NLBServerGroup{Name: name, VpcID: "vpc-test", Tags: marks(), ClientIPOff: protocol == "TCPSSL", Protocol: protocol}
		for n := range 2 {
			group.Servers = append(group.Servers, &state.NLBServer{
				Type: "Ecs", ServerID: fmt.Sprintf("i-%d", n+1), ServerIP: fmt.Sprintf("10.1.0.%d", n+1), Port: int(port.NodePort), Weight: 100,
				Description: name,
			})
		}
		id := fmt.Sprintf("sgp-ccm-%d", i)
		made.NLBServerGroups[id] = group
		listener := &state.NLBListener{NLBID: "nlb-ccm", Port: int(port.Port), Protocol: protocol, IdleTimeout: 900, ServerGroupID: id,
			Description: fmt.Sprintf("k8s.%d.%s.web.default.%s", port.Port, protocol, clusterID)}
		if protocol == "TCPSSL" {
			listener.CertificateIDs, listener.SecurityPolicyID = []string{"cert-1"}, "tls_cipher_policy_1_0"
		}
		made.NLBListeners[fmt.Sprintf("lsn-ccm-%d", i)] = listener
	}
	w.cloud.Add(&made)
	svc.Labels = map[string]string{lb.LabelHash: "0123456789abcdef", lb.LabelLoadBalancerID: "nlb-ccm"}
	svc.Finalizers = []string{nlb.Finalizer}
	svc.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "nlb-ccm.cn-hangzhou.nlb.aliyuncs.com"}}
	return svc
}

// everyPort gives the Service ports of each protocol.
func everyPort(svc *corev1.Service) {
	svc.Spec.Ports = append(svc.Spec.Ports,
		corev1.ServicePort{Name: "https", Port: 443, NodePort: 30443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8443)},
		corev1.ServicePort{Name: "dns", Port: 53, NodePort: 30053, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(53)},
	)
	annotated(annotation.ProtocolPort, "tcpssl:443", annotation.CertID, "cert-1", annotation.ZoneMaps,
		"cn-hangzhou-i:vsw-i,cn-hangzhou-h:vsw-h",
		annotation.HealthCheckType, "http")(svc) // Without the switch, the existing CCM doesn't look at the type.
}

// TestTakeover: an NLB of the existing CCM is taken over without a write, and goes with the Service.
func TestTakeover(t *testing.T) {
	for name, lacks := range map[string]func(*world, *corev1.Service){
		"complete": func(*world, *corev1.Service) {},
		"no labels": func(_ *world, svc *corev1.Service) {
			svc.Labels = nil
		},
		"no tag of the cluster": func(w *world, _ *corev1.Service) {
			w.cloud.Change(func(c *state.Cloud) { c.NLBs["nlb-ccm"].Tags = marks()[:1] })
		},
		"tags of users": func(w *world, _ *corev1.Service) {
			w.cloud.Change(func(c *state.Cloud) { c.NLBs["nlb-ccm"].Tags = append(marks(), state.Tag{Key: "team", Value: "a"}) })
		},
	} {
		inWorld(t, 2, func(w *world) {
			svc := w.byCCM(web(everyPort), "TCP", "TCPSSL", "UDP")
			lacks(w, svc)
			w.create(svc)
			w.after(time.Minute)
			w.expect(name)
			if hash := w.service().Labels[lb.LabelHash]; hash == "" || hash == "0123456789abcdef" {
				t.Errorf("%s: the hash is %q; events: %v", name, hash, w.events.take())
			}
			w.addNode(3)
			w.settle()
			w.expect(name+", one more node", "ApplyServerChanges", "ApplyServerChanges", "ApplyServerChanges")
			w.remove()
			w.after(time.Minute)
			w.has(name + ", deleted")
		})
	}
}

// TestTakeoverOfOthers: an NLB with the same mark that another cluster has made is none to take.
func TestTakeoverOfOthers(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		svc := w.byCCM(web(), "TCP")
		tags := []state.Tag{{Key: ownership.TagService, Value: mark}, {Key: ownership.TagCluster, Value: "c-other"}}
		w.cloud.Change(func(c *state.Cloud) {
			group := c.NLBServerGroups["sgp-ccm-0"]
			c.NLBs["nlb-ccm"].Tags, group.Tags, group.Name = tags, tags, "k8s.30080.TCP.web.default.c-other"
			group.Servers[0].Description, group.Servers[1].Description = group.Name, group.Name
			c.NLBListeners["lsn-ccm-0"].Description = "k8s.80.TCP.web.default.c-other"
		})
		svc.Labels, svc.Status = nil, corev1.ServiceStatus{}
		w.create(svc)
		w.remove()
		w.after(time.Minute)
		check(t, "NLB of the other cluster", "nlb-ccm", w.balancer().ID)
		group := w.group()
		check(t, "server group of the other cluster", "sgp-ccm-0", group.ID)
		check(t, "its servers", 2, len(group.Servers))
		check(t, "its tags", tags, group.Tags)
	})
}
