package nlb_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// marks are the tags of the existing CCM.
func marks() []*commonv1.Tag {
	return []*commonv1.Tag{{Key: ownership.TagService, Value: mark}, {Key: ownership.TagCluster, Value: clusterID}}
}

// byCCM puts into the cloud what the existing CCM has made for a Service of which each port has such a protocol, and
// returns the Service as it left it.
func (w *world) byCCM(svc *corev1.Service, protocols ...string) *corev1.Service {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.cloud.NLB.LoadBalancers["nlb-ccm"] = &nlbv1.LoadBalancer{
		LoadBalancerId: "nlb-ccm", Name: mark, VpcId: "vpc-test", AddressType: nlbv1.AddressType_ADDRESS_TYPE_INTERNET,
		CrossZoneEnabled: true, Tags: marks(),
		DeletionProtection:     &nlbv1.Protection{Enabled: true, Reason: "managed.by.ack"},
		ModificationProtection: &nlbv1.Protection{Enabled: true, Reason: "managed.by.ack"},
		ZoneMappings: []*nlbv1.ZoneMapping{{ZoneId: "cn-hangzhou-h", VswitchId: "vsw-h"},
			{ZoneId: "cn-hangzhou-i", VswitchId: "vsw-i"}},
	}
	for i, port := range svc.Spec.Ports {
		protocol := protocols[i]
		name := fmt.Sprintf("k8s.%d.%s.web.default.%s", port.NodePort, protocol, clusterID)
		group := &nlbv1.ServerGroup{
			ServerGroupId: fmt.Sprintf("sgp-ccm-%d", i), Name: name, VpcId: "vpc-test", Tags: marks(), PreserveClientIpEnabled: protocol != "TCPSSL",
			Protocol: nlbv1.ServerGroupProtocol(nlbv1.ServerGroupProtocol_value["SERVER_GROUP_PROTOCOL_"+protocol]),
		}
		for n := range 2 {
			group.Servers = append(group.Servers, &nlbv1.Server{
				Type: nlbv1.ServerType_SERVER_TYPE_ECS, ServerId: fmt.Sprintf("i-%d", n+1), ServerIp: fmt.Sprintf("10.1.0.%d", n+1),
				Port:   port.NodePort,
				Weight: new(int32(100)), Description: name,
			})
		}
		w.cloud.NLB.ServerGroups[group.GetServerGroupId()] = group
		id := fmt.Sprintf("lsn-ccm-%d", i)
		listener := &nlbv1.Listener{
			ListenerId: id, LoadBalancerId: "nlb-ccm", Port: port.Port, Status: nlbv1.ListenerStatus_LISTENER_STATUS_RUNNING,
			Protocol: nlbv1.ListenerProtocol(nlbv1.ListenerProtocol_value["LISTENER_PROTOCOL_"+protocol]),
			Config: &nlbv1.ListenerConfig{
				Description: new(fmt.Sprintf("k8s.%d.%s.web.default.%s", port.Port, protocol, clusterID)), ServerGroupId: new(group.GetServerGroupId()),
				IdleTimeout: new(int32(900)),
			},
		}
		if protocol == "TCPSSL" {
			listener.Config.CertificateIds, listener.Config.SecurityPolicyId = []string{"cert-1"}, new("tls_cipher_policy_1_0")
		}
		w.cloud.NLB.Listeners[id] = listener
	}
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
			w.cloud.NLB.LoadBalancers["nlb-ccm"].Tags = marks()[:1]
		},
		"tags of users": func(w *world, _ *corev1.Service) {
			w.cloud.NLB.LoadBalancers["nlb-ccm"].Tags = append(marks(), &commonv1.Tag{Key: "team", Value: "a"})
		},
	} {
		inWorld(t, 2, func(w *world) {
			svc := w.byCCM(web(everyPort), "TCP", "TCPSSL", "UDP")
			w.cloud.Lock()
			lacks(w, svc)
			w.cloud.Unlock()
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
		w.cloud.Lock()
		tags := []*commonv1.Tag{{Key: ownership.TagService, Value: mark}, {Key: ownership.TagCluster, Value: "c-other"}}
		theirs, group := w.cloud.NLB.LoadBalancers["nlb-ccm"], w.cloud.NLB.ServerGroups["sgp-ccm-0"]
		theirs.Tags, group.Tags, group.Name = tags, tags, "k8s.30080.TCP.web.default.c-other"
		group.Servers[0].Description, group.Servers[1].Description = group.GetName(), group.GetName()
		*w.cloud.NLB.Listeners["lsn-ccm-0"].Config.Description = "k8s.80.TCP.web.default.c-other"
		before := proto.CloneOf(group)
		w.cloud.Unlock()
		svc.Labels, svc.Status = nil, corev1.ServiceStatus{}
		w.create(svc)
		w.remove()
		w.after(time.Minute)
		w.cloud.Lock()
		defer w.cloud.Unlock()
		after := w.cloud.NLB.ServerGroups["sgp-ccm-0"]
		if len(w.cloud.NLB.LoadBalancers) != 1 || len(w.cloud.NLB.ServerGroups) != 1 ||
			len(after.GetServers()) != len(before.GetServers()) || len(after.GetTags()) != 2 {
			t.Errorf("the other cluster has %v, %v", w.cloud.NLB.LoadBalancers, w.cloud.NLB.ServerGroups)
		}
	})
}
