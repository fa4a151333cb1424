package nlb_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	simapi "alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

const mainLines = "balancer " + mark

func nodeLine(name string) string { return "group " + name + " i-1:30080=100 i-2:30080=100" }

// TestPreserve (trap 2): a preserved NLB keeps its listeners, server groups and servers, and loses protections and marks.
func TestPreserve(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web(annotated(annotation.PreserveOnDelete, "on")))
		before := w.state()
		w.remove()
		w.has("preserved", before...)
		check(t, "finalizers", 0, len(w.service().Finalizers))
		balancer := w.balancer()
		check(t, "protected", false, balancer.Deletion.On || balancer.Modification.On)
		key, value := ownership.Owner{Service: "web", Namespace: "default", ClusterID: clusterID}.Kept()
		check(t, "tags of the NLB", []state.Tag{{Key: key, Value: value}}, balancer.Tags)
		check(t, "marks of the server group", 0, len(w.group().Tags))
	})
}

// TestZones (trap 4): zones are compared in both directions, and what can't be is refused before the call.
func TestZones(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		zones := func() (ids []string) {
			for _, z := range w.balancer().Zones {
				ids = append(ids, z.ZoneID)
			}
			return ids
		}
		w.create(web(annotated(annotation.ZoneMaps, "cn-hangzhou-i:vsw-i2, cn-hangzhou-h:vsw-h:10.2.0.7")))
		check(t, "address", "10.2.0.7", w.balancer().Zones[0].PrivateIP)
		w.writes()
		w.update(annotated(annotation.ZoneMaps, "cn-hangzhou-h:vsw-h:10.2.0.7,cn-hangzhou-i:vsw-i2,cn-hangzhou-j:vsw-j"))
		w.expect("a zone more", "UpdateLoadBalancer")
		check(t, "zones", []string{"cn-hangzhou-h", "cn-hangzhou-i", "cn-hangzhou-j"}, zones())
		w.update(annotated(annotation.ZoneMaps, "cn-hangzhou-h:vsw-h,cn-hangzhou-j:vsw-j"))
		w.expect("a zone less", "UpdateLoadBalancer")
		check(t, "zones", []string{"cn-hangzhou-h", "cn-hangzhou-j"}, zones())
		for _, bad := range []string{"cn-hangzhou-h:vsw-h", "cn-hangzhou-h:vsw-h,cn-hangzhou-h:vsw-h",
			"cn-hangzhou-h:vsw-h:fe80--1,cn-hangzhou-j:vsw-j", "cn-hangzhou-h:vsw h,cn-hangzhou-j:vsw-j",
			"cn-hangzhou-h:vsw-h::eip-1,cn-hangzhou-j:vsw-j::eip-1", "a:1,b:2,c:3,d:4,e:5,f:6,g:7,h:8,i:9,j:10,k:11"} {
			w.events.take()
			w.update(annotated(annotation.ZoneMaps, bad))
			w.expect(bad)
			w.says("zone-maps")
		}
		w.update(withoutAnnotation(annotation.ZoneMaps))
		w.expect("left to the controller, which keeps them")
		w.says(controller.ReasonKept)
	})
}

// full leaves no address free in a vSwitch: the cloud keeps four of each block for itself.
func (w *world) full(id string) {
	w.cloud.Change(func(c *state.Cloud) { c.VSwitches[id].CidrBlock = "10.255.0.0/30" })
}

// TestOwnZones: without zone-maps the NLB is in one configured vSwitch of each zone, and in others if these are full;
// with one zone there is none.
func TestOwnZones(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		check(t, "zones", 2, len(w.balancer().Zones))
		check(t, "the first vSwitch of the zone", "vsw-i", w.balancer().Zones[1].VSwitchID)
	})
	// Which zones there are is asked once for many Services, and who has room only when somebody hasn't.
	inWorld(t, 1, func(w *world) {
		var lock sync.Mutex
		var ages []time.Duration
		w.cloud.Interpose(func(_ int, method string, r proto.Message) gatewaytest.Fault {
			lock.Lock()
			defer lock.Unlock()
			if list, ok := r.(*vpcv1.ListVSwitchesRequest); ok {
				ages = append(ages, list.GetMaxAge().AsDuration())
			}
			if method == "nlb.CreateLoadBalancer" && len(ages) == 1 {
				w.full("vsw-i")
			}
			return gatewaytest.Fault{}
		})
		w.create(web())
		check(t, "the vSwitch that has room", "vsw-i2", w.balancer().Zones[1].VSwitchID)
		check(t, "how old what is asked may be", []time.Duration{time.Minute, 0}, ages)
	})
	inWorld(t, 1, func(w *world) {
		w.vSwitches = []string{"vsw-i", "vsw-i2"}
		w.restart()
		w.create(web())
		w.has("no NLB", "group "+groupName+" i-1:30080=100")
		w.says("are in 1 zones, and an NLB needs two")
		w.remove()
		w.has("nothing")
	})
	inWorld(t, 1, func(w *world) {
		w.vSwitches = nil
		w.restart()
		w.create(web())
		w.has("no NLB", "group "+groupName+" i-1:30080=100")
		w.says("vswitchIDs of the configuration, or their tag kubernetes.load.balancers); it is tried again")
	})
	// Those of the nodes are taken if none is configured, and stand in for the zone in which the configured one is full.
	for name, configured := range map[string][]string{"none": nil, "one is full": {"vsw-h", "vsw-i"}} {
		inWorld(t, 1, func(w *world) {
			w.full("vsw-i")
			w.cloud.Change(func(c *state.Cloud) {
				c.VSwitches["vsw-nodes"].CidrBlock = "10.0.0.0/16"
				c.VSwitches["vsw-h"].CidrBlock, c.VSwitches["vsw-i2"].CidrBlock = "10.1.0.0/28", "10.1.0.16/28"
			})
			for _, n := range []int{2, 3, 17, 18} {
				w.addNode(n)
			}
			w.vSwitches = configured
			w.restart()
			w.create(web())
			zones := w.balancer().Zones
			check(t, name+": zones", 2, len(zones))
			check(t, name+": vSwitches", "vsw-h vsw-i2", zones[0].VSwitchID+" "+zones[1].VSwitchID)
			w.full("vsw-h")
			w.writes()
			w.restart()
			w.expect("an NLB that exists stays where it is")
		})
	}
}

// TestRemovedAnnotations (trap 3): what was applied and is gone goes back to the default.
func TestRemovedAnnotations(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		pairs := []string{
			annotation.CrossZone, "off", annotation.DeleteProtection, "off", annotation.SecurityGroupIDs, "sg-1,sg-2", annotation.Scheduler, "rr",
			annotation.ConnectionDrain, "on", annotation.PreserveClientIP, "off", annotation.IdleTimeout, "60", annotation.ConnectionsPerSec, "10",
			annotation.ProxyProtocol, "on", annotation.HealthCheckFlag, "off", annotation.AdditionalTags, "team=a",
		}
		w.create(web(annotated(pairs...)))
		check(t, "groups", []string{"sg-1", "sg-2"}, w.balancer().SecurityGroupIDs)
		check(t, "cross-zone off", true, w.balancer().CrossZoneOff)
		check(t, "tags", 3, len(w.balancer().Tags))
		check(t, "scheduler", "rr", w.group().Scheduler)
		check(t, "check off", true, w.group().HealthCheck.Off)
		check(t, "idle", 60, w.listener().IdleTimeout)
		w.writes()
		w.update(func(svc *corev1.Service) {
			for i := 0; i < len(pairs); i += 2 {
				withoutAnnotation(pairs[i])(svc)
			}
		})
		// Each attribute of the NLB has a call of its own: one that is refused holds back none of the others.
		w.expect("all gone", "UpdateLoadBalancer", "UpdateLoadBalancer", "UpdateLoadBalancer", "UpdateServerGroup", "UpdateListener")
		w.says("AnnotationKept")
		balancer, group, listener := w.balancer(), w.group(), w.listener()
		check(t, "groups that stay until none is asked for", []string{"sg-1", "sg-2"}, balancer.SecurityGroupIDs)
		check(t, "cross-zone, protection", true, !balancer.CrossZoneOff && balancer.Deletion.On)
		check(t, "tags", 2, len(balancer.Tags))
		check(t, "scheduler", "Wrr", group.Scheduler)
		check(t, "drain", false, group.Drain)
		check(t, "client addresses, health", true, !group.ClientIPOff && !group.HealthCheck.Off)
		check(t, "listener", []int{900, 0}, []int{listener.IdleTimeout, listener.Cps})
		check(t, "proxy protocol", false, listener.ProxyProtocol)
		w.update(func(*corev1.Service) {})
		w.expect("and again")
	})
}

// TestTLS: a tcpssl listener has its certificates, and an own server group; what can't be there is refused with a text.
func TestTLS(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web(annotated(annotation.ProtocolPort, "tcpssl:80", annotation.CertID, "cert-1",
			annotation.AdditionalCertIDs, "cert-3,cert-2", annotation.ALPN, "on",
			annotation.ALPNPolicy, "HTTP2Preferred", annotation.TLSCipherPolicy, "tls_cipher_policy_1_2", annotation.CACert,
			"on", annotation.CACertID, "ca-1")))
		name := "k8s.30080.TCPSSL.web.default.c-test"
		w.has("tls", mainLines, "listener 80-0 TCPSSL to "+name, nodeLine(name))
		check(t, "policy", "HTTP2Preferred", w.listener().AlpnPolicy)
		additional := func() (ids []string) {
			for _, c := range w.listener().Additional {
				ids = append(ids, c.ID)
			}
			slices.Sort(ids)
			return ids
		}
		check(t, "certificates", []string{"cert-2", "cert-3"}, additional())
		w.expect("creation", "CreateLoadBalancer", "CreateServerGroup", "CreateListener", "UpdateListener")
		w.update(annotated(annotation.AdditionalCertIDs, "cert-3,cert-4", annotation.CertID, "cert-9"))
		w.expect("other certificates", "UpdateListener", "UpdateListener")
		check(t, "certificates", []string{"cert-3", "cert-4"}, additional())
		w.restart()
		w.update(withoutAnnotation(annotation.AdditionalCertIDs))
		w.expect("no more", "UpdateListener")
		check(t, "certificates", 0, len(additional()))
		w.events.take()
		w.update(withoutAnnotation(annotation.CertID), annotated(annotation.PreserveClientIP, "on"))
		w.expect("nothing that can't be")
		w.says("cert-id is missing")
		w.update(annotated(annotation.CertID, "cert-9", annotation.PreserveClientIP, "off", annotation.ProtocolPort, "tcp:80"))
		w.has("tcp again", mainLines, "listener 80-0 TCP to "+groupName, nodeLine(groupName))
	})
}

// TestUDPAndTCP on one port number, and idle timeouts that only one of them can have.
func TestUDPAndTCP(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web(annotated(annotation.IdleTimeout, "100"), func(svc *corev1.Service) {
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "u", Port: 80, NodePort: 30080,
				Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(8080)})
		}))
		udp := "k8s.30080.UDP.web.default.c-test"
		w.has("both", mainLines, "listener 80-0 TCP to "+groupName, "listener 80-0 UDP to "+udp, nodeLine(groupName), nodeLine(udp))
		w.says("is 20 for udp ports")
	})
}

// TestRanges: a range has a server group without ports for pods; another range takes its place without a conflict.
func TestRanges(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.pods("10.0.0.1", "10.0.0.2")
		w.create(web(onPods, annotated(annotation.ListenerPortRange, "8000-8100:80")))
		servers := " eni-10.0.0.1:0=100 eni-10.0.0.2:0=100"
		name := "k8s.8000_8100.TCP.web.default.c-test"
		w.has("a range", mainLines, "listener 8000-8100 TCP to "+name, "group "+name+servers)
		check(t, "probed port", 8080, w.group().HealthCheck.ConnectPort)
		w.update(annotated(annotation.ListenerPortRange, "8050-8200:80"))
		next := "k8s.8050_8200.TCP.web.default.c-test"
		w.has("another range", mainLines, "listener 8050-8200 TCP to "+next, "group "+next+servers)
		w.events.take()
		w.update(withoutAnnotation(annotation.ListenerPortRange))
		pods := "k8s.8080.TCP.web.default.c-test"
		w.has("no range", mainLines, "listener 80-0 TCP to "+pods, "group "+pods+" eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100")
		for _, bad := range []string{"100-100:80", "0-5:80", "100:80", "5-70000:80"} {
			w.writes()
			w.update(annotated(annotation.ListenerPortRange, bad))
			w.expect(bad)
			w.says("listener-port-range")
		}
	})
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.ListenerPortRange, "8000-8100:80")))
		w.has("nodes")
		w.says("needs pods as backends")
	})
}

// TestGroupTypes: servers as addresses need a server group of their own, which takes the place of the first without a gap.
func TestGroupTypes(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.writes()
		w.update(annotated(annotation.ServerGroupType, "Ip"))
		w.expect("addresses", "CreateServerGroup", "UpdateListener", "DeleteServerGroup")
		w.has("addresses", mainLines, "listener 80-0 TCP to "+groupName, "group "+groupName+" 10.1.0.1:30080=100 10.1.0.2:30080=100")
		w.restart()
		w.update(withoutAnnotation(annotation.ServerGroupType))
		w.has("instances", mainLines, "listener 80-0 TCP to "+groupName, nodeLine(groupName))
	})
	inWorld(t, 1, func(w *world) {
		w.pods("10.0.0.1")
		w.create(web(onPods, annotated(annotation.ServerGroupType, "Ip")))
		check(t, "pods as addresses", "Ip", w.group().Servers[0].Type)
	})
}

// TestImpossible (trap 9): what the cloud can't do is refused with a text instead of silence.
func TestImpossible(t *testing.T) {
	for text, change := range map[string]func(*corev1.Service){
		"bandwidth-package-id": annotated(annotation.AddressType, "intranet", annotation.BandwidthPackageID, "cbwp-1"),
		"EIPs only together": annotated(annotation.AddressType, "intranet", annotation.ZoneMaps,
			"cn-hangzhou-h:vsw-h:10.0.0.9:eip-1,cn-hangzhou-i:vsw-i"),
		"qch is for udp":       annotated(annotation.Scheduler, "qch"),
		"cacert-id is missing": annotated(annotation.ProtocolPort, "tcpssl:80", annotation.CertID, "c", annotation.CACert, "on"),
		"tcp, udp or tcpssl":   annotated(annotation.ProtocolPort, "https:80"),
	} {
		inWorld(t, 1, func(w *world) {
			w.create(web(change))
			w.has(text)
			w.says(text)
		})
	}
	for text, change := range map[string]func(*corev1.Service){
		"bandwidth is for CLBs": annotated(annotation.Bandwidth, "5"),
		"without annotation " + annotation.Prefix + "health-check-flag": annotated(annotation.HealthCheckType, "http"),
	} {
		inWorld(t, 1, func(w *world) {
			w.create(web(change))
			check(t, "served", 1, len(w.service().Status.LoadBalancer.Ingress))
			w.says(text)
		})
	}
}

// TestClosing: a public NLB becomes an intranet one before it gets a listener more.
func TestClosing(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.cloud.ResetCalls()
		w.update(annotated(annotation.AddressType, "intranet"), func(svc *corev1.Service) {
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "x", Port: 81, NodePort: 30081, Protocol: corev1.ProtocolTCP})
		})
		check(t, "order", []string{"UpdateLoadBalancer", "CreateServerGroup", "CreateListener"}, w.writes())
		check(t, "address type", "Intranet", w.balancer().AddressType)
	})
}

// users puts an NLB of a user's into the cloud, with a listener of his and a server group.
func (w *world) users() {
	w.cloud.Add(&state.Cloud{
		NLBs:            map[string]*state.NLB{"nlb-user": {Name: "by-hand", VpcID: "vpc-test"}},
		NLBServerGroups: map[string]*state.NLBServerGroup{"sgp-user": {Name: "by-hand", VpcID: "vpc-test"}},
		NLBListeners: map[string]*state.NLBListener{"lsn-user": {NLBID: "nlb-user", Port: 9000, Protocol: "TCP", ServerGroupID: "sgp-user",
			Description: "by hand"}},
	})
}

const usersLines, userListener = "balancer by-hand", "listener 9000-0 TCP to by-hand"

// TestReuse: a user's NLB is shared, its server groups are filled, and all that was made there goes with the Service.
func TestReuse(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.users()
		w.create(web(annotated(annotation.ID, "nlb-user", annotation.ForceOverride, "true")))
		w.has("listeners", usersLines, userListener, "group by-hand ", "listener 80-0 TCP to "+groupName, nodeLine(groupName))
		check(t, "published", "nlb-user.cn-hangzhou.nlb.aliyuncs.com", w.service().Status.LoadBalancer.Ingress[0].Hostname)
		w.remove()
		w.after(time.Minute)
		w.has("deleted", usersLines, userListener, "group by-hand ")
	})
	inWorld(t, 2, func(w *world) {
		w.users()
		w.create(web(annotated(annotation.ID, "nlb-user", annotation.VGroupPort, "sgp-user:80", annotation.Weight, "60")))
		w.has("filled", usersLines, userListener, "group by-hand i-1:30080=30 i-2:30080=30")
		w.remove()
		w.after(time.Minute)
		w.has("deleted", usersLines, userListener, "group by-hand ")
	})
	inWorld(t, 2, func(w *world) {
		w.users()
		w.cloud.Change(func(c *state.Cloud) {
			c.NLBs["nlb-user"].Tags = []state.Tag{{Key: ownership.TagCluster, Value: "c-other"}}
		})
		w.create(web(annotated(annotation.ID, "nlb-user")))
		w.says("can't be reused")
		w.has("nothing made", usersLines, userListener, "group by-hand ")
	})
}

// TestMoves: a Service goes to a user's NLB and back. Its server group goes along, and loses no server.
func TestMoves(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.users()
		w.create(web())
		w.writes()
		forget := func(svc *corev1.Service) { svc.Status = corev1.ServiceStatus{} }
		w.update(forget, annotated(annotation.ID, "nlb-user", annotation.ForceOverride, "true"))
		w.after(time.Minute)
		w.expect("there, and marked", "UpdateLoadBalancer", "CreateListener", "UpdateLoadBalancer", "DeleteLoadBalancer")
		w.has("there", usersLines, userListener, "group by-hand ", "listener 80-0 TCP to "+groupName, nodeLine(groupName))
		w.update(forget, withoutAnnotation(annotation.ID), withoutAnnotation(annotation.ForceOverride))
		w.after(time.Minute)
		w.expect("and back", "CreateLoadBalancer", "CreateListener", "DeleteListener")
		w.has("and back", usersLines, userListener, "group by-hand ", mainLines, "listener 80-0 TCP to "+groupName, nodeLine(groupName))
		w.remove()
		w.after(time.Minute)
		w.has("deleted", usersLines, userListener, "group by-hand ")
	})
}

// TestConflict (trap 6): a listener port that two Services want is told the second one, and left to the first.
func TestConflict(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.users()
		share := annotated(annotation.ID, "nlb-user", annotation.ForceOverride, "true")
		w.create(web(share))
		before := w.state()
		w.create(web(share, func(svc *corev1.Service) {
			svc.Name, svc.UID, svc.Spec.Ports[0].NodePort = "api", "aaaaaaaa-c2ae-4642-b033-5607860aef6a", 30090
		}))
		w.says("listener 80/tcp of the load balancer is that of Service default/web")
		after := w.state()
		for _, line := range before {
			found := false
			for _, now := range after {
				found = found || now == line
			}
			if !found {
				t.Errorf("%s has gone; there is %v", line, after)
			}
		}
		w.writes()
		w.after(8 * time.Hour)
		w.expect("no fight")
		w.remove()
		w.after(time.Hour)
		w.cloud.Look(func(c *state.Cloud) { check(t, "listeners: the port is the other's now", 2, len(c.NLBListeners)) })
	})
}

// TestServers (trap 7): a server is told apart by its port, too, and a pod without a network interface keeps no dead one in its place.
func TestServers(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.users()
		w.create(web(annotated(annotation.ID, "nlb-user", annotation.VGroupPort, "sgp-user:80")))
		w.has("filled", usersLines, userListener, "group by-hand i-1:30080=100 i-2:30080=100")
		w.update(func(svc *corev1.Service) { svc.Spec.Ports[0].NodePort = 30081 })
		w.has("on another port", usersLines, userListener, "group by-hand i-1:30081=100 i-2:30081=100")
	})
	inWorld(t, 1, func(w *world) {
		const name = "k8s.8080.TCP.web.default.c-test"
		w.pods("10.0.0.1", "10.0.0.2")
		w.create(web(onPods))
		w.has("two pods", mainLines, "listener 80-0 TCP to "+name, "group "+name+" eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100")
		w.homeless = "10.0.0.9"
		w.pods("10.0.0.1", "10.0.0.9")
		w.has("one of them gone", mainLines, "listener 80-0 TCP to "+name, "group "+name+" eni-10.0.0.1:8080=100")
		w.says("10.0.0.9")
	})
}

// TestDrift (trap 10): what was changed by hand is put back by a check hours later, whose reads give way to all others. Nothing about the
// Service has changed.
func TestDrift(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web(annotated(annotation.IdleTimeout, "60")))
		end := w.state()
		w.writes()
		w.cloud.Change(func(c *state.Cloud) {
			for _, l := range c.NLBListeners {
				l.IdleTimeout = 100
			}
			for _, g := range c.NLBServerGroups {
				g.Servers = g.Servers[:1]
			}
		})
		w.after(5 * time.Hour)
		for _, c := range w.cloud.Calls() {
			if strings.Contains(c.Method, ".Get") || strings.Contains(c.Method, ".List") {
				check(t, "priority of "+c.Method, gateway.Background, c.Priority)
			}
		}
		w.expect("the check", "UpdateListener", "ApplyServerChanges")
		w.has("put back", end...)
		check(t, "idle timeout", 60, w.listener().IdleTimeout)
	})
}

// TestHandOver: a Service that gets the class anew goes from CLB to NLB and back, and leaves nothing behind.
func TestHandOver(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		clbs := func() (n int) {
			w.cloud.Look(func(c *state.Cloud) {
				n = len(c.LoadBalancers) + len(c.ServerGroups)
				for _, lb := range c.LoadBalancers {
					n += len(lb.Listeners)
				}
			})
			return n
		}
		classless := func(svc *corev1.Service) { svc.Spec.LoadBalancerClass = nil }
		w.create(web(classless))
		check(t, "CLBs", 3, clbs())
		w.has("no NLB")
		for range 2 {
			w.update(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeClusterIP })
			w.update(func(svc *corev1.Service) {
				svc.Spec.Type, svc.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, web().Spec.LoadBalancerClass
			})
			w.after(time.Minute)
			check(t, "CLBs", 0, clbs())
			w.has("an NLB", mainLines, "listener 80-0 TCP to "+groupName, nodeLine(groupName))
			w.update(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeClusterIP })
			w.update(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeLoadBalancer }, classless)
			w.after(time.Minute)
			check(t, "CLBs", 3, clbs())
			w.has("no NLB any more")
		}
		w.remove()
		w.after(time.Minute)
		check(t, "CLBs", 0, clbs())
		check(t, "finalizers", 0, len(w.service().Finalizers))
	})
}

// TestHandOverByType: with the annotation for the type, the load balancer of before is kept until the user confirms that nobody needs it.
func TestHandOverByType(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.byType = true
		w.restart()
		w.create(web(func(svc *corev1.Service) { svc.Spec.LoadBalancerClass = nil }))
		typed := func(svc *corev1.Service) { svc.Annotations = map[string]string{annotation.LoadBalancerType: "nlb"} }
		svc := w.service()
		kept := svc.Annotations
		w.update(func(svc *corev1.Service) {
			typed(svc)
			maps.Copy(svc.Annotations, kept)
		})
		w.has("not yet")
		w.says(controller.ReasonUnconfirmed)
		w.update(func(svc *corev1.Service) { svc.Annotations[annotation.ConfirmRelease] = "true" })
		w.after(time.Minute)
		w.has("an NLB", mainLines, "listener 80-0 TCP to "+groupName, nodeLine(groupName))
		w.cloud.Look(func(c *state.Cloud) { check(t, "CLBs", 0, len(c.LoadBalancers)) })
	})
}

// TestQuota: a server group takes as many servers as the cloud allows, the Service says so, and all of them when it allows more.
func TestQuota(t *testing.T) {
	inWorld(t, 5, func(w *world) {
		w.set(func(s *simapi.Settings) { s.Quotas.NLBServers = 3 })
		w.create(web())
		w.after(time.Minute)
		if n := len(w.group().Servers); n < 1 || n > 3 {
			t.Errorf("%d servers", n)
		}
		check(t, "published", 1, len(w.service().Status.LoadBalancer.Ingress))
		w.says("the cloud takes no more servers")
		w.set(func(s *simapi.Settings) { s.Quotas.NLBServers = 400 })
		w.after(9 * time.Hour)
		check(t, "servers", 5, len(w.group().Servers))
	})
}

// TestGates (trap 8): a pod that waits for the NLB is told when the health checks succeed, not when it is registered.
func TestGates(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.set(func(s *simapi.Settings) { s.BackendHealthy = time.Hour })
		gate := corev1.PodConditionType("service.readiness.alibabacloud.com/web")
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod-1", UID: "pod-uid", CreationTimestamp: metav1.Now()},
			Spec:       corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: gate}}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}},
		}
		w.create(web(onPods))
		w.waiting = "pod-1"
		w.pods("10.0.0.1")
		if _, err := w.kube.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.settle()
		state := func() corev1.ConditionStatus {
			pod, err := w.kube.CoreV1().Pods("default").Get(t.Context(), "pod-1", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range pod.Status.Conditions {
				if c.Type == gate {
					return c.Status
				}
			}
			return ""
		}
		check(t, "servers", 1, len(w.group().Servers))
		if got := state(); got == corev1.ConditionTrue {
			t.Errorf("the gate is open while health checks have not found out anything")
		}
		w.set(func(s *simapi.Settings) { s.BackendHealthy = 0 })
		w.after(30 * time.Second)
		check(t, "gate", corev1.ConditionTrue, state())
	})
}
