package lb_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

const (
	oldLB      = "lb-old"
	oldAddress = "47.1.2.3"
	tcp, udp   = slbv1.Protocol_PROTOCOL_TCP, slbv1.Protocol_PROTOCOL_UDP
	http       = slbv1.Protocol_PROTOCOL_HTTP
	https      = slbv1.Protocol_PROTOCOL_HTTPS
)

// legacy is what the existing CCM left of the Service web: on the Service, and in the cloud.
type legacy struct {
	service   *corev1.Service
	lb        *state.LoadBalancer
	listeners []*state.Listener
	groups    []*state.ServerGroup
	pods      []discoveryv1.Endpoint
	// extensions are certificates by domain of listener 80.
	extensions map[string]string
}

// newLegacy is what a recent version leaves of a Service with one TCP port and two nodes.
func newLegacy() *legacy {
	svc := web()
	svc.Finalizers = []string{Finalizer}
	svc.Labels = map[string]string{LabelHash: strings.Repeat("a", 56), LabelLoadBalancerID: oldLB}
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: oldAddress}}
	l := &legacy{service: svc, lb: &state.LoadBalancer{
		ID: oldLB, Name: instance, Address: oldAddress, AddressType: "internet", InstanceChargeType: "PayByCLCU", DeleteProtection: "on",
		ModificationStatus: "ConsoleProtection", ModificationReason: "managed.by.ack",
	}}
	l.lb.Tags = append(l.lb.Tags, tag("kubernetes.do.not.delete", instance), tag("ack.aliyun.com", clusterID))
	l.group("30080", l.node(1, 30080, 100), l.node(2, 30080, 100))
	l.listener(80, tcp, "30080")["Bandwidth"] = "-1"
	return l
}

// inTakenOver is inWorld for a cluster that is taken over: fields of Services that the existing CCM ignores have no effect.
func inTakenOver(t *testing.T, nodes int, test func(w *world)) {
	t.Helper()
	inWorld(t, nodes, func(w *world) {
		w.config = func(s *settings) { s.Kind.Desired.ServiceFields = false }
		w.restart()
		test(w)
	})
}

// TestTakeoverIgnoresFields: what the existing CCM ignored costs no write at a takeover, and an event says that it has no effect.
func TestTakeoverIgnoresFields(t *testing.T) {
	inTakenOver(t, 2, func(w *world) {
		l := newLegacy()
		spec := &l.service.Spec
		spec.SessionAffinity, spec.LoadBalancerIP = corev1.ServiceAffinityClientIP, "10.0.0.9"
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
		spec.IPFamilyPolicy = new(corev1.IPFamilyPolicyRequireDualStack)
		ingress := l.service.Status.LoadBalancer.Ingress
		l.seed(w)
		check(t, "writes", 0, len(w.cloud.Writes()))
		check(t, "status", ingress, w.service().Status.LoadBalancer.Ingress)
		w.hasEvents("what has no effect", "spec.sessionAffinity has no effect", "spec.loadBalancerIP has no effect",
			"spec.ipFamilies has no effect", "serviceFields")
	})
}

// groupName is the name of a vServer group and the description of its servers.
func groupName(port string) string { return "k8s/" + port + "/web/default/" + clusterID }

func (l *legacy) group(port string, servers ...*state.Server) {
	for _, s := range servers {
		s.Description = groupName(port)
	}
	l.groups = append(l.groups, &state.ServerGroup{ID: "rsp-" + port, LoadBalancerID: oldLB, Name: groupName(port), Servers: servers})
}

// node is a server; the cloud fills in an address that the CCM doesn't send.
func (l *legacy) node(n, port, weight int) *state.Server {
	s := instanceServer(fmt.Sprintf("i-%d", n), port, weight, "")
	s.ServerIP = fmt.Sprintf("192.168.0.%d", n)
	return s
}

// listener adds a running listener as the cloud describes it, and returns its attributes.
func (l *legacy) listener(port int, protocol slbv1.Protocol, group string) map[string]string {
	name := strings.ToLower(strings.TrimPrefix(protocol.String(), "PROTOCOL_"))
	added := listenerByHand(port, name, "", fmt.Sprintf("k8s/%d/web/default/%s", port, clusterID))
	added.Attributes["Scheduler"] = "rr"
	if group != "" {
		added.Attributes["VServerGroupId"] = "rsp-" + group
	}
	if protocol == http || protocol == https {
		added.Attributes["HealthCheck"] = "off"
	}
	l.listeners = append(l.listeners, added)
	return added.Attributes
}

// none takes listeners and groups away, to make others.
func (l *legacy) none() { l.listeners, l.groups = nil, nil }

func (l *legacy) ports(ports ...corev1.ServicePort) { l.service.Spec.Ports = ports }

// seed stops the controller and lets it find the legacy.
func (l *legacy) seed(w *world) {
	w.stop()
	w.addENI("eni-1", "10.0.0.1", "10.0.0.2")
	w.cloud.Lock()
	w.cloud.LoadBalancers[l.lb.ID], l.lb.Listeners = l.lb, l.listeners
	w.cloud.Eips["eip-old"] = &state.Eip{Address: "8.8.4.4", InstanceID: oldLB, InstanceType: "SlbInstance", Status: "InUse"}
	w.cloud.Acls["acl-1"] = &state.Acl{Name: "users"}
	for _, g := range l.groups {
		w.cloud.ServerGroups[g.ID] = g
	}
	for _, domain := range slices.Sorted(maps.Keys(l.extensions)) {
		l.listeners[0].Domains = append(l.listeners[0].Domains, &state.Domain{ID: "de-" + domain, Domain: domain,
			CertificateID: l.extensions[domain]})
	}
	w.cloud.Unlock()
	if l.pods != nil {
		w.pods(l.pods...)
	}
	w.create(l.service)
	w.start()
}

// TestTakeover starts on what versions of the existing CCM left behind: nothing in the cloud may be written, whatever the shape, and the
// next start knows that all is in place.
func TestTakeover(t *testing.T) {
	look := []string{"GetLoadBalancer"}
	find := []string{"ListEips", "ListAccessControlLists", "ListLoadBalancers", "GetLoadBalancer"}
	web80 := corev1.ServicePort{Name: "http", Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8080)}
	tests := map[string]struct {
		change func(l *legacy)
		reads  []string
	}{
		"a recent version": {func(*legacy) {}, look},
		"before the label of the id": {func(l *legacy) {
			delete(l.service.Labels, LabelLoadBalancerID)
		}, find},
		"before hash, finalizer and cluster tag": {func(l *legacy) {
			l.service.Labels, l.service.Finalizers, l.lb.Tags = nil, nil, l.lb.Tags[:1]
		}, find},
		"paid by specification": {func(l *legacy) {
			l.lb.InstanceChargeType, l.lb.Spec = "PayBySpec", "slb.s1.small"
		}, look},
		"unprotected": {func(l *legacy) {
			l.lb.DeleteProtection, l.lb.ModificationStatus, l.lb.ModificationReason = "off", "NonProtection", ""
		}, look},
		"tags and a name of others": {func(l *legacy) {
			l.lb.Name = "renamed in the console"
			l.lb.Tags = append(l.lb.Tags, tag("acs:rm:rgId", "rg-1"), tag("owner", "alice"))
		}, look},
		"annotations with the current prefix": {func(l *legacy) {
			for key, value := range map[string]string{"name": "mine", "scheduler": "WRR", "health-check-type": "http", "health-check-uri": "/ok",
				"health-check-httpcode": "http_3xx, http_2xx", "additional-resource-tags": "team=blue, empty", "spec": "slb.s2.small"} {
				annotated(key, value)(l.service)
			}
			l.annotatedAttributes()
		}, look},
		"annotations with the old prefix": {func(l *legacy) {
			for key, value := range map[string]string{"name": "mine", "scheduler": "wrr", "health-check-type": "http", "health-check-uri": "/ok",
				"health-check-httpcode": "http_2xx,http_3xx", "additional-resource-tags": "team=blue,empty=", "spec": "slb.s2.small"} {
				l.service.Annotations[annotation.LegacyPrefix+key] = value
			}
			l.annotatedAttributes()
		}, look},
		"an empty annotation hides the old one": {func(l *legacy) {
			l.service.Annotations[annotation.LegacyPrefix+annotation.Scheduler] = "wlc"
			annotated(annotation.Scheduler, "")(l.service)
		}, look},
		"what was set by hand, and what an annotation left when it went": {func(l *legacy) {
			l.none()
			annotated(annotation.ProtocolPort, "http:80")(l.service)
			l.group("30080", l.node(1, 30080, 100), l.node(2, 30080, 100))
			c := l.listener(80, http, "30080")
			maps.Copy(c, map[string]string{"Scheduler": "wlc", "Bandwidth": "50", "IdleTimeout": "33", "StickySession": "on",
				"StickySessionType": "insert", "CookieTimeout": "9", "HealthCheck": "on", "HealthCheckURI": "/healthz",
				"AclStatus": "on", "AclType": "white"})
			l.listeners[0].AclIDs = []string{"acl-1"}
		}, look},
		"bandwidth of a listener set by hand": {func(l *legacy) { l.listeners[0].Attributes["Bandwidth"] = "20" }, look},
		"TCP and UDP on one number": {func(l *legacy) {
			dns := corev1.ServicePort{Name: "dns", Port: 80, NodePort: 30080, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(53)}
			l.ports(web80, dns)
			l.listener(80, udp, "30080")["Bandwidth"] = "-1"
		}, look},
		"a redirect": {func(l *legacy) {
			l.none()
			l.ports(web80, corev1.ServicePort{Name: "https", Port: 443, NodePort: 30443, Protocol: corev1.ProtocolTCP,
				TargetPort: intstr.FromInt32(8443)})
			annotated(annotation.ProtocolPort, "http:80,https:443")(l.service)
			annotated(annotation.ForwardPort, "80:443")(l.service)
			annotated(annotation.CertID, "cert-1")(l.service)
			l.group("30080", l.node(1, 30080, 100), l.node(2, 30080, 100))
			l.group("30443", l.node(1, 30443, 100), l.node(2, 30443, 100))
			maps.Copy(l.listener(80, http, ""), map[string]string{"ListenerForward": "on", "ForwardPort": "443"})
			secure := l.listener(443, https, "30443")
			maps.Copy(secure, map[string]string{"ServerCertificateId": "cert-1", "EnableHttp2": "on", "TLSCipherPolicy": "tls_cipher_policy_1_0"})
		}, look},
		"Local, weighted by pods": {func(l *legacy) {
			local(l.service)
			l.none()
			l.group("30080", l.node(1, 30080, 2), l.node(2, 30080, 1))
			l.listener(80, tcp, "30080")
			l.pods = []discoveryv1.Endpoint{pod("10.0.0.1", "node-1"), pod("10.0.0.2", "node-1"), pod("10.0.0.3", "node-2")}
		}, look},
		"pods behind a number": {func(l *legacy) {
			eniMode(l.service)
			l.none()
			l.group("8080", l.pod("10.0.0.1"), l.pod("10.0.0.2"))
			l.listener(80, tcp, "8080")
			l.pods = []discoveryv1.Endpoint{pod("10.0.0.1", "node-1"), pod("10.0.0.2", "node-2")}
		}, []string{"BatchGetNetworkInterfaces", "GetLoadBalancer"}},
		"foreign listeners, groups and servers": {func(l *legacy) {
			l.groups[0].Servers = append(l.groups[0].Servers, instanceServer("i-foreign", 80, 10, ""),
				instanceServer("i-1", 9999, 10, "by hand"))
			for _, name := range []string{"by hand", "k8s/80/web/other/" + clusterID, "k8s/80/web/default/other"} {
				l.groups = append(l.groups, &state.ServerGroup{ID: "rsp-" + name, LoadBalancerID: oldLB, Name: name})
			}
			l.listener(81, udp, "by hand")["Description"] = "by hand"
			delete(l.listener(82, tcp, "by hand"), "Description")
			l.listener(83, tcp, "30080")["Description"] = "by hand" // On our group, so that it has our servers.
		}, look},
		"a server at its place whose description is lost": {func(l *legacy) { l.groups[0].Servers[1].Description = "" }, look},
		"certificates by domain": {func(l *legacy) {
			l.none()
			annotated(annotation.ProtocolPort, "https:80")(l.service)
			annotated(annotation.CertID, "cert-1")(l.service)
			annotated(annotation.DomainExtensions, "a.example.com:cert-2, B.example.com:cert-3")(l.service)
			l.group("30080", l.node(1, 30080, 100), l.node(2, 30080, 100))
			l.listener(80, https, "30080")["ServerCertificateId"] = "cert-1"
			l.extensions = map[string]string{"a.example.com": "cert-2", "b.example.com": "cert-3"}
		}, []string{"GetLoadBalancer", "ListDomainExtensions"}},
		"public, and called classic": {func(l *legacy) {
			annotated(annotation.NetworkType, "classic")(l.service)
			l.lb.NetworkType = "classic"
		}, look},
		"in the VPC": {func(l *legacy) {
			annotated(annotation.NetworkType, "vpc")(l.service)
			annotated(annotation.AddressType, "intranet")(l.service)
			l.lb.AddressType, l.lb.VpcID, l.lb.VSwitchID, l.lb.NetworkType = "intranet", "vpc-test", "vsw-not-configured-any-more", "vpc"
		}, look},
		"a host name is published": {func(l *legacy) {
			annotated(annotation.Hostname, "www.example.com")(l.service)
			l.service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "www.example.com"}}
		}, look},
		"an EIP is published": {func(l *legacy) {
			annotated(annotation.ExternalIPType, "eip")(l.service)
			l.service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "8.8.4.4"}}
		}, []string{"GetLoadBalancer", "ListEips"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inTakenOver(t, 2, func(w *world) {
				l := newLegacy()
				test.change(l)
				ingress := l.service.Status.LoadBalancer.Ingress
				l.seed(w)
				check(t, "calls", test.reads, w.calls())
				check(t, "events", []string(nil), w.events.reasons())
				svc := w.service()
				check(t, "finalizers", []string{Finalizer}, svc.Finalizers)
				check(t, "id label", oldLB, svc.Labels[LabelLoadBalancerID])
				check(t, "status", ingress, svc.Status.LoadBalancer.Ingress)
				if hash := svc.Labels[LabelHash]; hash == "" || hash == strings.Repeat("a", 56) {
					t.Errorf("hash label %q", hash)
				}
				w.restart()
				for _, call := range w.cloud.Calls() {
					if call.Method == "GetLoadBalancer" {
						t.Error("the next start reads the configuration again")
					}
				}
				check(t, "writes of the next start", 0, len(w.cloud.Writes()))
				w.remove()
				check(t, "instances when the Service is deleted", 0, len(w.instances()))
			})
		})
	}
}

// annotatedAttributes are those that the annotations of the table ask for.
func (l *legacy) annotatedAttributes() {
	l.lb.Name, l.lb.Spec = "mine", "slb.s2.small"
	l.lb.InstanceChargeType = "PayBySpec"
	l.lb.Tags = append(l.lb.Tags, tag("team", "blue"), tag("empty", ""))
	maps.Copy(l.listeners[0].Attributes, map[string]string{"Scheduler": "wrr", "HealthCheckSwitch": "on", "HealthCheckType": "http",
		"HealthCheckURI": "/ok", "HealthCheckHttpCode": "http_2xx,http_3xx"})
}

func (l *legacy) pod(ip string) *state.Server {
	return &state.Server{Type: "eni", ServerID: "eni-1", ServerIP: ip, Port: 8080, Weight: 100}
}

// TestTakeoverGoesOn: the CLB of the existing CCM is kept right as one of our own.
func TestTakeoverGoesOn(t *testing.T) {
	inTakenOver(t, 2, func(w *world) {
		newLegacy().seed(w)
		w.calls()
		w.addNode(3)
		w.settle()
		check(t, "calls for a node", []string{"ApplyServerChanges"}, w.calls())
		w.update(annotated(annotation.Scheduler, "wlc"))
		check(t, "calls for an annotation", []string{"GetLoadBalancer", "UpdateListener"}, w.calls())
	})
}

// TestTakeoverRestoresTheMark: a CLB that has lost its tag is found by its name and marked again, as the existing CCM does.
func TestTakeoverRestoresTheMark(t *testing.T) {
	inTakenOver(t, 2, func(w *world) {
		l := newLegacy()
		l.lb.Tags = nil
		delete(l.service.Labels, LabelLoadBalancerID)
		l.seed(w)
		check(t, "calls", []string{"ListEips", "ListAccessControlLists", "ListLoadBalancers", "ListLoadBalancers",
			"GetLoadBalancer", "UpdateLoadBalancer"}, w.calls())
		check(t, "tags", []string{instance}, []string{w.instances()[0].Tags[0].Value})
	})
}

// TestCloneOfTheCluster: a cluster restored from a backup of this one has Services with the same UIDs and marks, and another id. It
// takes nothing of ours, and doesn't delete it either.
func TestCloneOfTheCluster(t *testing.T) {
	inTakenOver(t, 2, func(w *world) {
		w.config = func(cfg *settings) { cfg.Kind.Desired.ClusterID = "c-clone" }
		newLegacy().seed(w)
		check(t, "events", []string{"SyncLoadBalancerFailed"}, w.events.reasons())
		w.addNode(3)
		w.settle()
		w.remove()
		check(t, "writes", 0, len(w.cloud.Writes()))
		check(t, "instances", 1, len(w.instances()))
		check(t, "finalizers", 0, len(w.service().Finalizers))
	})
}

// TestTakeoverOfWhatIsNotSupported: the configuration stays as it is, the servers are kept right, and the CLB goes with its Service.
func TestTakeoverOfWhatIsNotSupported(t *testing.T) {
	for key, value := range map[string]string{
		annotation.Scheduler: "fastest", annotation.NetworkType: "alibaba",
	} {
		t.Run(key, func(t *testing.T) {
			inTakenOver(t, 2, func(w *world) {
				l := newLegacy()
				annotated(key, value)(l.service)
				l.seed(w)
				check(t, "calls", []string{"GetLoadBalancer"}, w.calls())
				check(t, "events", []string{"SyncLoadBalancerFailed"}, w.events.reasons())
				w.addNode(3)
				w.settle()
				check(t, "calls for a node", []string{"ApplyServerChanges"}, w.calls())
				w.remove()
				check(t, "instances", 0, len(w.instances()))
			})
		})
	}
}
