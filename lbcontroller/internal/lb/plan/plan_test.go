package plan_test

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

func TestChanged(t *testing.T) {
	t.Parallel()
	off, on := &slbv1.HealthCheck{Enabled: new(false)}, &slbv1.HealthCheck{Enabled: new(true)}
	for name, test := range map[string]struct{ want, have, changed *slbv1.ListenerConfig }{
		"equal": {&slbv1.ListenerConfig{Scheduler: new("rr")}, &slbv1.ListenerConfig{Scheduler: new("rr"),
			IdleTimeout: proto.Int32(15)}, nil},
		"not wanted": {&slbv1.ListenerConfig{}, &slbv1.ListenerConfig{IdleTimeout: proto.Int32(15)}, nil},
		"one differs": {&slbv1.ListenerConfig{Scheduler: new("wrr"), IdleTimeout: proto.Int32(15)},
			&slbv1.ListenerConfig{Scheduler: new("rr"), IdleTimeout: proto.Int32(15)}, &slbv1.ListenerConfig{Scheduler: new("wrr")}},
		"zero is a value": {&slbv1.ListenerConfig{PersistenceTimeout: proto.Int32(0)},
			&slbv1.ListenerConfig{PersistenceTimeout: proto.Int32(9)}, &slbv1.ListenerConfig{PersistenceTimeout: proto.Int32(0)}},
		"set by others": {
			&slbv1.ListenerConfig{Scheduler: new("rr")},
			&slbv1.ListenerConfig{
				Scheduler: new("rr"), CaCertificateId: new("ca-1"), XForwardedFor: new(true), XForwardedForSlbId: new(false),
				XForwardedForSlbIp: new(true),
				Gzip:               new(false), SynProxy: new(true), BackendServerPort: proto.Int32(-520),
				HealthCheck: &slbv1.HealthCheck{Request: new("ping"), Response: new("pong")},
			}, nil,
		},
		"nested": {
			&slbv1.ListenerConfig{HealthCheck: &slbv1.HealthCheck{Enabled: new(true), Interval: proto.Int32(5)}},
			&slbv1.ListenerConfig{HealthCheck: &slbv1.HealthCheck{Enabled: new(true), Interval: proto.Int32(2)}},
			&slbv1.ListenerConfig{HealthCheck: &slbv1.HealthCheck{Interval: proto.Int32(5)}},
		},
		"codes in any order": {
			&slbv1.ListenerConfig{HealthCheck: &slbv1.HealthCheck{HttpCode: new("http_2xx,http_3xx")}},
			&slbv1.ListenerConfig{HealthCheck: &slbv1.HealthCheck{HttpCode: new("http_3xx,http_2xx")}}, nil,
		},
		"lists in any order": {
			&slbv1.ListenerConfig{AclEnabled: new(true), AclIds: []string{"a", "b"}},
			&slbv1.ListenerConfig{AclEnabled: new(true), AclIds: []string{"b", "a"}}, nil,
		},
		"access control goes together": {
			&slbv1.ListenerConfig{AclEnabled: new(true), AclType: new("white"), AclIds: []string{"a"}},
			&slbv1.ListenerConfig{AclEnabled: new(true), AclType: new("black"), AclIds: []string{"a"}},
			&slbv1.ListenerConfig{AclEnabled: new(true), AclType: new("white"), AclIds: []string{"a"}},
		},
		"access control turned on": {
			&slbv1.ListenerConfig{AclEnabled: new(true), AclType: new("white"), AclIds: []string{"a"}},
			&slbv1.ListenerConfig{AclEnabled: new(false), AclType: new("white"), AclIds: []string{"a"}},
			&slbv1.ListenerConfig{AclEnabled: new(true), AclType: new("white"), AclIds: []string{"a"}},
		},
		"another access control list": {
			&slbv1.ListenerConfig{AclEnabled: new(true), AclType: new("white"), AclIds: []string{"b"}},
			&slbv1.ListenerConfig{AclEnabled: new(true), AclType: new("white"), AclIds: []string{"a"}},
			&slbv1.ListenerConfig{AclEnabled: new(true), AclType: new("white"), AclIds: []string{"b"}},
		},
		"something else than access control": {
			&slbv1.ListenerConfig{Scheduler: new("wrr"), AclEnabled: new(true), AclType: new("white"), AclIds: []string{"a"}},
			&slbv1.ListenerConfig{Scheduler: new("rr"), AclEnabled: new(true), AclType: new("white"), AclIds: []string{"a"}},
			&slbv1.ListenerConfig{Scheduler: new("wrr")},
		},
		"health check off on both sides": {&slbv1.ListenerConfig{HealthCheck: &slbv1.HealthCheck{Enabled: new(false),
			Uri: new("/x")}}, &slbv1.ListenerConfig{HealthCheck: off}, nil},
		"health check off, nothing said": {&slbv1.ListenerConfig{HealthCheck: &slbv1.HealthCheck{Uri: new("/x")}},
			&slbv1.ListenerConfig{HealthCheck: off}, nil},
		"health check turned off": {&slbv1.ListenerConfig{HealthCheck: off}, &slbv1.ListenerConfig{HealthCheck: on},
			&slbv1.ListenerConfig{HealthCheck: off}},
		"stickiness off on both sides": {
			&slbv1.ListenerConfig{StickySession: new(false), CookieTimeout: proto.Int32(3)}, &slbv1.ListenerConfig{StickySession: new(false)}, nil,
		},
		"stickiness off, nothing said": {&slbv1.ListenerConfig{CookieTimeout: proto.Int32(3)},
			&slbv1.ListenerConfig{StickySession: new(false)}, nil},
		"stickiness on, nothing said": {
			&slbv1.ListenerConfig{CookieTimeout: proto.Int32(3)}, &slbv1.ListenerConfig{StickySession: new(true)},
			&slbv1.ListenerConfig{CookieTimeout: proto.Int32(3)},
		},
		"access control off, not reported": {&slbv1.ListenerConfig{AclEnabled: new(false)}, &slbv1.ListenerConfig{}, nil},
	} {
		want, have := proto.CloneOf(test.want), proto.CloneOf(test.have)
		if diff := gocmp.Diff(test.changed, changed(test.want, test.have), protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if !proto.Equal(want, test.want) || !proto.Equal(have, test.have) {
			t.Errorf("%s: the input was changed", name)
		}
	}
}

// observed returns an instance with one listener of ours, and the wish for exactly that.
func observed() (*model.Desired, model.Observed) {
	group := us().Group("30080")
	key := model.ListenerKey{Port: 80, Protocol: http}
	d := &model.Desired{
		Owner: us(), UID: "u", Instance: model.Instance{Spec: &slbv1.CreateLoadBalancerRequest{}},
		Listeners: []model.Listener{{Key: key, Group: group, Config: &slbv1.ListenerConfig{Description: new(us().Listener(80))}}},
		Groups:    []model.Group{{Name: group, Servers: []model.Server{ecs(1, 30080, 100, group)}}},
	}
	o := model.Observed{
		InstanceID: "lb-1", ConfigKnown: true, Instance: &slbv1.LoadBalancer{LoadBalancerId: "lb-1"},
		Listeners: []model.Listener{{Key: key, Config: &slbv1.ListenerConfig{Description: new(us().Listener(80)), ServerGroupId: new("rsp-1")}}},
		Groups:    []model.Group{{ID: "rsp-1", Name: group, Servers: []model.Server{ecs(1, 30080, 100, group)}}},
	}
	return d, o
}

func wantPlan(t *testing.T, p Plan, want string) {
	t.Helper()
	if diff := gocmp.Diff(strings.TrimSpace(want), strings.TrimSpace(p.String())); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestPlans(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(d *model.Desired, o *model.Observed)
		want   string
	}{
		"nothing": {func(*model.Desired, *model.Observed) {}, ""},
		"everything": {func(_ *model.Desired, o *model.Observed) { *o = model.Nothing() },
			"1. create load balancer \n2. create server group k8s/30080/web/default/c with 1 servers\n3. create listener 80/http"},
		"node port": {func(d *model.Desired, _ *model.Observed) {
			d.Groups[0].Name, d.Listeners[0].Group = us().Group("31080"), us().Group("31080")
		},
			"1. create server group k8s/31080/web/default/c with 1 servers\n2. change listener 80/http: server group\n3. " +
				"delete server group k8s/30080/web/default/c"},
		"protocol": {func(d *model.Desired, _ *model.Observed) { d.Listeners[0].Key.Protocol = tcp },
			"1. delete listener 80/http\n2. create listener 80/tcp"},
		"redirect": {func(d *model.Desired, _ *model.Observed) {
			redirect(&d.Listeners[0], 443)
		}, "1. delete listener 80/http\n2. create listener 80/http"},
		"stopped": {func(_ *model.Desired, o *model.Observed) { o.Listeners[0].Stopped = true }, "1. start listener 80/http"},
		"foreign listener on the port": {func(_ *model.Desired, o *model.Observed) {
			o.Listeners[0].Config = &slbv1.ListenerConfig{Description: new("by hand")}
		}, `refused: listener 80/http exists on the load balancer and isn't ours; delete it, or set its description to "k8s/80/web/default/c"`},
		"description lost, but our group": {func(_ *model.Desired,
			o *model.Observed) {
			config(o.Listeners[0].Config).Description = nil
		}, "1. change listener 80/http: description"},
		"foreign listener on our group": {func(_ *model.Desired, o *model.Observed) {
			for i, description := range []*string{new("by hand"), nil} {
				o.Listeners = append(o.Listeners, model.Listener{Key: model.ListenerKey{Port: int32(81 + i), Protocol: tcp},
					Config: &slbv1.ListenerConfig{Description: description, ServerGroupId: new("rsp-1")}})
			}
		}, ""},
		"foreign listener on a group of ours that goes": {func(d *model.Desired, o *model.Observed) {
			d.Groups[0].Name, d.Listeners[0].Group = us().Group("31080"), us().Group("31080")
			o.Listeners = append(o.Listeners, model.Listener{Key: model.ListenerKey{Port: 81, Protocol: tcp},
				Config: &slbv1.ListenerConfig{Description: new("by hand"), ServerGroupId: new("rsp-1")}})
		}, "1. create server group k8s/31080/web/default/c with 1 servers\n2. change listener 80/http: server group\n" +
			"3. change servers of k8s/30080/web/default/c: add 0, remove 1, update 0"},
		"redirect to a port of others": {func(d *model.Desired, o *model.Observed) {
			// It goes on leading to the old target, which stays for that reason.
			there := model.Listener{Key: model.ListenerKey{Port: 80, Protocol: http},
				Config: &slbv1.ListenerConfig{Description: new(us().Listener(80))}}
			wanted := there
			wanted.Config = &slbv1.ListenerConfig{Description: new(us().Listener(80))}
			redirect(&there, 443)
			redirect(&wanted, 444)
			o.Listeners[0].Key, config(o.Listeners[0].Config).Description = model.ListenerKey{Port: 443, Protocol: https}, new(us().Listener(443))
			o.Listeners = append(o.Listeners, there,
				model.Listener{Key: model.ListenerKey{Port: 444, Protocol: tcp}, Config: &slbv1.ListenerConfig{Description: new("by hand")}})
			d.Listeners[0].Key, config(d.Listeners[0].Config).Description = model.ListenerKey{Port: 444, Protocol: https}, new(us().Listener(444))
			d.Listeners = append([]model.Listener{wanted}, d.Listeners...)
		}, "refused: listener 443/https isn't deleted: a listener redirects to it that isn't ours or can't be changed\n" +
			"refused: port 444 of the load balancer has a listener that isn't ours or can't be deleted; delete it, or choose another port"},
		"redirect to a port of others instead of a plain listener": {func(d *model.Desired, o *model.Observed) {
			redirect(&d.Listeners[0], 444)
			d.Listeners = append(d.Listeners, model.Listener{Key: model.ListenerKey{Port: 444, Protocol: https}, Config: &slbv1.ListenerConfig{}})
			o.Listeners = append(o.Listeners, model.Listener{Key: model.ListenerKey{Port: 444, Protocol: tcp},
				Config: &slbv1.ListenerConfig{Description: new("by hand")}})
		}, "refused: port 444 of the load balancer has a listener that isn't ours or can't be deleted; delete it, or choose another port"},
		"redirect of others to a listener of ours that goes": {func(d *model.Desired, o *model.Observed) {
			o.Listeners[0].Key.Protocol = https
			o.Listeners = append(o.Listeners, model.Listener{Key: model.ListenerKey{Port: 8080, Protocol: http},
				LeadsTo: 80, Config: &slbv1.ListenerConfig{ForwardPort: proto.Int32(80)}})
			d.Listeners[0].Key.Protocol = tcp
		}, "refused: listener 80/https isn't deleted: a listener redirects to it that isn't ours or can't be changed\n" +
			"refused: port 80 of the load balancer has a listener that isn't ours or can't be deleted; delete it, or choose another port"},
		"description edited, but our group": {func(_ *model.Desired,
			o *model.Observed) {
			config(o.Listeners[0].Config).Description = new("front")
		}, "1. change listener 80/http: description"},
		"foreign server in a surplus group": {func(d *model.Desired, o *model.Observed) {
			o.Groups = append(o.Groups, model.Group{ID: "rsp-2", Name: us().Group("1"),
				Servers: []model.Server{ecs(1, 1, 1, us().Group("1")), ecs(9, 1, 1, "by hand")}})
		}, "1. change servers of k8s/1/web/default/c: add 0, remove 1, update 0"},
		"surplus group in foreign use": {func(d *model.Desired, o *model.Observed) {
			o.Groups = append(o.Groups, model.Group{ID: "rsp-2", Name: us().Group("1"), Servers: []model.Server{ecs(1, 1, 1, us().Group("1"))}},
				model.Group{ID: "rsp-3", Name: "theirs"})
			o.Listeners = append(o.Listeners, model.Listener{Key: model.ListenerKey{Port: 9, Protocol: tcp},
				Config: &slbv1.ListenerConfig{ServerGroupId: new("rsp-3")}})
		}, "1. delete server group k8s/1/web/default/c"},
		"weight": {func(d *model.Desired, _ *model.Observed) { d.Groups[0].Servers[0].Weight = 5 },
			"1. change servers of k8s/30080/web/default/c: add 0, remove 0, update 1"},
		"weight kept": {func(d *model.Desired, _ *model.Observed) {
			d.Groups[0].Servers[0].Weight, d.Groups[0].KeepWeights = 5, true
		}, ""},
		"fixed and changeable attributes": {func(d *model.Desired, _ *model.Observed) {
			spec(d).AddressType, spec(d).Name = slbv1.AddressType_ADDRESS_TYPE_INTRANET, "n"
			d.Instance.Asked = Asked{AddressType: true, Name: true}
		}, "1. change load balancer: name\nrefused: annotation address-type asks for \"intranet\" but the CLB has \"internet\", " +
			"which can't be changed; restore it or recreate the Service"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, o := observed()
			test.change(d, &o)
			wantPlan(t, Diff(d, o), test.want)
		})
	}
}

// B-11: in the existing CCM a foreign server with the same id but another port causes an update at every reconcile.
func TestB11IdentityIncludesThePort(t *testing.T) {
	t.Parallel()
	d, o := observed()
	o.Groups[0].Servers = append(o.Groups[0].Servers, ecs(1, 9999, 50, "by hand"))
	wantPlan(t, Diff(d, o), "")
}

// B-23: in the existing CCM a listener of an unknown protocol fails every sync.
func TestB23UnknownProtocolIsLeftAlone(t *testing.T) {
	t.Parallel()
	d, o := observed()
	o.Listeners = append(o.Listeners, model.Listener{Key: model.ListenerKey{Port: 9},
		Config: &slbv1.ListenerConfig{Description: new(us().Listener(9))}})
	wantPlan(t, Diff(d, o), "")
}

// B-29: in the existing CCM an http listener that isn't reported as "not redirecting" is recreated.
func TestB29UnreportedRedirectIsNone(t *testing.T) {
	t.Parallel()
	d, o := observed()
	config(d.Listeners[0].Config).ForwardPort = nil
	config(o.Listeners[0].Config).ForwardPort = proto.Int32(0)
	wantPlan(t, Diff(d, o), "")
}

// A pod whose network interface isn't found keeps the server it has.
func TestUnresolvedAddressKeepsItsServer(t *testing.T) {
	t.Parallel()
	d, o := observed()
	eni := func(id, ip string) model.Server {
		return model.Server{ServerKey: model.ServerKey{Type: model.ENI, ID: id, IP: ip, Port: 80}, Weight: 100, Description: us().Group("30080")}
	}
	d.Groups[0].Servers, d.Groups[0].Unresolved = []model.Server{eni("", "10.0.0.1"), eni("eni-2", "10.0.0.2")}, []string{"10.0.0.1"}
	o.Groups[0].Servers = []model.Server{eni("eni-1", "10.0.0.1"), eni("eni-3", "10.0.0.3")}
	wantPlan(t, Diff(d, o), "1. change servers of k8s/30080/web/default/c: add 1, remove 1, update 0")
}

func TestBilling(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec    *slbv1.CreateLoadBalancerRequest
		asked   Asked
		have    *slbv1.LoadBalancer
		want    *slbv1.UpdateLoadBalancerRequest
		refused int
	}{
		"spec of CLCU is not bought": {&slbv1.CreateLoadBalancerRequest{Spec: "s2"}, Asked{Spec: true},
			&slbv1.LoadBalancer{InstanceChargeType: byCLCU}, nil, 0},
		"spec": {&slbv1.CreateLoadBalancerRequest{Spec: "s2"}, Asked{Spec: true},
			&slbv1.LoadBalancer{InstanceChargeType: bySpec, Spec: "s1"}, &slbv1.UpdateLoadBalancerRequest{Spec: new("s2")}, 0},
		"to CLCU": {&slbv1.CreateLoadBalancerRequest{InstanceChargeType: byCLCU},
			Asked{InstanceChargeType: true}, &slbv1.LoadBalancer{InstanceChargeType: bySpec},
			&slbv1.UpdateLoadBalancerRequest{InstanceChargeType: byCLCU.Enum()}, 0},
		"no way back": {&slbv1.CreateLoadBalancerRequest{InstanceChargeType: bySpec},
			Asked{InstanceChargeType: true}, &slbv1.LoadBalancer{InstanceChargeType: byCLCU}, nil, 1},
		"bandwidth": {
			&slbv1.CreateLoadBalancerRequest{InternetChargeType: byBandwidth, BandwidthMbps: 9}, Asked{InternetChargeType: true, Bandwidth: true},
			&slbv1.LoadBalancer{AddressType: internet, InternetChargeType: byBandwidth, BandwidthMbps: 5},
			&slbv1.UpdateLoadBalancerRequest{InternetSpec: &slbv1.InternetSpec{ChargeType: byBandwidth, BandwidthMbps: 9}}, 0,
		},
		"bandwidth by traffic is not billed": {
			&slbv1.CreateLoadBalancerRequest{InternetChargeType: byTraffic, BandwidthMbps: 9}, Asked{InternetChargeType: true, Bandwidth: true},
			&slbv1.LoadBalancer{AddressType: internet, InternetChargeType: byTraffic, BandwidthMbps: 5}, nil, 0,
		},
		"intranet": {
			&slbv1.CreateLoadBalancerRequest{InternetChargeType: byBandwidth}, Asked{InternetChargeType: true},
			&slbv1.LoadBalancer{AddressType: slbv1.AddressType_ADDRESS_TYPE_INTRANET}, nil, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, o := observed()
			d.Instance = model.Instance{Spec: test.spec, Asked: test.asked}
			o.Instance = test.have
			p := Diff(d, o)
			var got *slbv1.UpdateLoadBalancerRequest
			if !p.Empty() {
				if update, ok := p.Phases[0][0].(UpdateInstance); ok {
					got = update.Request
				}
			}
			if diff := gocmp.Diff(test.want, got, protocmp.Transform()); diff != "" || len(p.Refused) != test.refused {
				t.Errorf("refused %v, update (-want +got):\n%s", p.Refused, diff)
			}
		})
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	d, o := observed()
	spec(d).Tags = []*commonv1.Tag{{Key: ownership.TagService, Value: "a"}, {Key: ownership.TagCluster, Value: "c"},
		{Key: "x", Value: "1"}, {Key: "y", Value: "2"}}
	d.Instance.DroppedTags = []string{"gone already", "ours"}
	present(o).Tags = []*commonv1.Tag{{Key: "x", Value: "1"}, {Key: "y", Value: "old"}, {Key: "theirs", Value: "z"}, {Key: "ours", Value: "w"}}
	update, ok := Diff(d, o).Phases[0][0].(UpdateInstance)
	if !ok {
		t.Fatal("no update of the instance")
	}
	want := []*commonv1.Tag{{Key: ownership.TagService, Value: "a"}, {Key: "y", Value: "2"}}
	if diff := gocmp.Diff(want, update.Request.GetSetTags(), protocmp.Transform()); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]string{"ours"}, update.Request.GetRemoveTagKeys()); diff != "" {
		t.Errorf("removed tags (-want +got):\n%s", diff)
	}
}

// TestDefaultsAreForNewListeners: where an annotation says nothing, a listener that exists keeps what it has.
func TestDefaultsAreForNewListeners(t *testing.T) {
	t.Parallel()
	d, o := observed()
	config(d.Listeners[0].Config).IdleTimeout = proto.Int32(30)
	d.Listeners[0].Defaults = &slbv1.ListenerConfig{
		Scheduler: new("rr"), StickySession: new(false), IdleTimeout: proto.Int32(15), HealthCheck: &slbv1.HealthCheck{Enabled: new(false)},
	}
	have := config(o.Listeners[0].Config)
	have.Scheduler, have.StickySession, have.IdleTimeout, have.HealthCheck = new("wlc"), new(true), proto.Int32(30),
		&slbv1.HealthCheck{Enabled: new(true)}
	wantPlan(t, Diff(d, o), "")
	o.Listeners = nil
	create, ok := Diff(d, o).Phases[0][0].(CreateListener)
	if !ok {
		t.Fatal("the listener isn't created")
	}
	want := proto.CloneOf(config(d.Listeners[0].Defaults))
	want.Description, want.IdleTimeout = new(us().Listener(80)), proto.Int32(30)
	if diff := gocmp.Diff(want, create.Listener.Config, protocmp.Transform()); diff != "" {
		t.Errorf("new listener (-want +got):\n%s", diff)
	}
	if config(d.Listeners[0].Config).Scheduler != nil {
		t.Error("the input was changed")
	}
}

func TestDiffServersGivesUp(t *testing.T) {
	t.Parallel()
	d, o := observed()
	o.ConfigKnown = false
	if p, ok := DiffServers(d, o); !ok || !p.Empty() {
		t.Errorf("equal: %t\n%s", ok, p)
	}
	if _, ok := DiffServers(d, model.Observed{InstanceID: "lb-1"}); ok {
		t.Error("a group is missing: the listeners must be known")
	}
	o.Groups = append(o.Groups, model.Group{ID: "rsp-2", Name: us().Group("1")})
	if _, ok := DiffServers(d, o); ok {
		t.Error("a group of ours is left over: the listeners must be known")
	}
}

func BenchmarkDiffServers(b *testing.B) {
	d, o := observed()
	d.Groups[0].Servers, o.Groups[0].Servers = nil, nil
	for n := range 5000 {
		d.Groups[0].Servers = append(d.Groups[0].Servers, ecs(n, 30080, 100, us().Group("30080")))
		o.Groups[0].Servers = append(o.Groups[0].Servers, ecs(n+1, 30080, 100, us().Group("30080")))
	}
	b.ReportAllocs()
	for b.Loop() {
		Diff(d, o)
	}
}

// TestB28ReleaseAsksForNoMoreThanThereIs: the existing CCM removes tags that aren't there, with an empty list of keys.
func TestB28ReleaseAsksForNoMoreThanThereIs(t *testing.T) {
	t.Parallel()
	tags := []*commonv1.Tag{{Key: "theirs"}, {Key: ownership.TagService, Value: "a"}, {Key: ownership.TagCluster, Value: "c"}}
	protection := &slbv1.ModificationProtection{Enabled: true}
	var many []*commonv1.Tag
	for i := range 10 {
		many = append(many, &commonv1.Tag{Key: fmt.Sprint("theirs-", i)})
	}
	for name, test := range map[string]struct {
		have     *slbv1.LoadBalancer
		preserve bool
		want     string
	}{
		"nothing to lift": {have: &slbv1.LoadBalancer{Tags: tags, ModificationProtection: protection}, want: "1. delete load balancer"},
		"protected": {have: &slbv1.LoadBalancer{DeleteProtection: true},
			want: "1. change load balancer: delete protection\n2. delete load balancer"},
		"protection not known":         {want: "1. change load balancer: delete protection\n2. delete load balancer"},
		"preserved, nothing to lift":   {have: &slbv1.LoadBalancer{Tags: tags[:1]}, preserve: true, want: "1. change load balancer: tags"},
		"preserved before":             {have: &slbv1.LoadBalancer{Tags: []*commonv1.Tag{{Key: "kept", Value: "here"}}}, preserve: true},
		"preserved, no room for a tag": {have: &slbv1.LoadBalancer{Tags: many}, preserve: true},
		"preserved, protected": {have: &slbv1.LoadBalancer{DeleteProtection: true, ModificationProtection: protection},
			preserve: true, want: "1. change load balancer: delete protection, modification protection, tags"},
		"preserved, one mark of ours": {have: &slbv1.LoadBalancer{Tags: tags[:2]}, preserve: true, want: "1. change load balancer: tags"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Release(model.Observed{InstanceID: "lb-1", Instance: test.have}, test.preserve)
			wantPlan(t, p, test.want)
			if name == "preserved, one mark of ours" {
				request := p.Phases[0][0].(UpdateInstance).Request
				if diff := gocmp.Diff([]string{ownership.TagService}, request.GetRemoveTagKeys()); diff != "" {
					t.Errorf("removed tags (-want +got):\n%s", diff)
				}
				if set := request.GetSetTags(); len(set) != 1 || set[0].GetKey() != "kept" {
					t.Errorf("set tags: %v", set)
				}
			}
		})
	}
	wantPlan(t, Release(model.Nothing(), false), "")
}

// B-22: in the existing CCM the last of two Services that want a port of one CLB takes it.
func TestB22ListenersOfOtherServicesStay(t *testing.T) {
	t.Parallel()
	other := ownership.Owner{Service: "other", Namespace: "default", ClusterID: us().ClusterID}
	d, o := observed()
	o.Listeners[0].Config = &slbv1.ListenerConfig{Description: new(other.Listener(80)), ServerGroupId: new("rsp-other")}
	o.Groups = append(o.Groups, model.Group{ID: "rsp-other", Name: other.Group("31000")})
	for _, reuse := range []model.Reuse{{}, {ID: "lb-1", Listeners: true}} {
		d.Reuse = reuse
		d.Listeners[0].Key.Protocol = http
		wantPlan(t, Diff(d, o),
			"refused: listener 80/http of the load balancer is that of Service default/other (cluster c); choose another port for one of the two, "+
				"or delete the listener if nobody needs it")
		d.Listeners[0].Key.Protocol = tcp
		wantPlan(t, Diff(d, o),
			"refused: port 80 of the load balancer has a listener of Service default/other (cluster c); delete it, or choose another port")
	}
}

// TestListenerOfAnotherServicesGroup: its description was edited, but the vServer group that it forwards to says whose it is, whether that
// group was read with ours or only its name is known.
func TestListenerOfAnotherServicesGroup(t *testing.T) {
	t.Parallel()
	other := ownership.Owner{Service: "other", Namespace: "default", ClusterID: us().ClusterID}
	const want = "refused: listener 80/http of the load balancer forwards to the server group of Service default/other (cluster " +
		"c); choose another port for one of the two, " +
		"or delete the listener if nobody needs it"
	for _, known := range []bool{true, false} {
		d, o := observed()
		d.Reuse, o.Reused = model.Reuse{ID: "lb-1", Listeners: true}, true
		o.Listeners[0].Config = &slbv1.ListenerConfig{Description: new("edited"), ServerGroupId: new("rsp-other")}
		if known {
			o.Groups = append([]model.Group{{ID: "rsp-other", Name: other.Group("31000")}}, o.Groups...)
		} else {
			o.OtherGroups = map[string]string{"rsp-other": other.Group("31000")}
		}
		wantPlan(t, Diff(d, o), want)
	}
}

// TestUsersInstance: what the Service may do on a CLB of the user's.
func TestUsersInstance(t *testing.T) {
	t.Parallel()
	mapped := func(d *model.Desired) { // to the group rsp-u
		d.Groups[0].ID, d.Groups[0].Name, d.Listeners[0].Group = "rsp-u", "rsp-u", "rsp-u"
	}
	users := model.Group{ID: "rsp-u", Name: "users", Servers: []model.Server{ecs(9, 1, 1, "by hand")}}
	filled := model.Group{ID: "rsp-u", Name: "users", Servers: []model.Server{ecs(1, 30080, 100, us().Group("30080")),
		ecs(9, 1, 1, "by hand")}}
	byHand := &slbv1.ListenerConfig{Description: new("by hand"), ServerGroupId: new("rsp-u")}
	for name, test := range map[string]struct {
		change func(d *model.Desired, o *model.Observed)
		want   string
	}{
		"listener of the user": {func(_ *model.Desired, o *model.Observed) { o.Listeners[0].Config = byHand },
			"1. change listener 80/http: description, server group"},
		"stopped listener of the user": {func(_ *model.Desired, o *model.Observed) {
			o.Listeners[0].Config, o.Listeners[0].Stopped = byHand, true
		}, "1. change listener 80/http: description, server group\n1. start listener 80/http"},
		"listeners are the user's": {func(d *model.Desired, o *model.Observed) {
			d.Reuse.Listeners, d.Listeners = false, nil
			config(o.Listeners[0].Config).Description = new("by hand")
		}, ""},
		"listeners are the user's, ours from before stays, with its group": {func(d *model.Desired, o *model.Observed) {
			d.Reuse.Listeners, d.Listeners = false, nil
			d.Groups[0].Name = us().Group("31080")
		}, "1. create server group k8s/31080/web/default/c with 1 servers\n2. change servers of k8s/30080/web/default/c: " +
			"add 0, remove 1, update 0"},
		"group of the user": {func(d *model.Desired, o *model.Observed) {
			mapped(d)
			o.Groups = append(o.Groups, users)
		}, "1. change servers of users: add 1, remove 0, update 0\n2. change listener 80/http: server group\n3. delete " +
			"server group k8s/30080/web/default/c"},
		"group of the user, filled": {func(d *model.Desired, o *model.Observed) {
			mapped(d)
			o.Groups, config(o.Listeners[0].Config).ServerGroupId = []model.Group{filled}, new("rsp-u")
		}, ""},
		"group of the user no more": {func(d *model.Desired, o *model.Observed) {
			d.Reuse.Filled = []string{"rsp-u"}
			o.Groups = append(o.Groups, filled)
		}, "1. change servers of users: add 0, remove 1, update 0"},
		"group of the user that was never filled": {func(_ *model.Desired, o *model.Observed) { o.Groups = append(o.Groups, filled) }, ""},
		"group of the user is missing": {func(d *model.Desired, o *model.Observed) {
			mapped(d)
			d.Reuse.Filled = []string{"rsp-before"}
			o.Groups = append(o.Groups, model.Group{ID: "rsp-before", Name: "before", Servers: filled.Servers})
		}, "refused: annotation vgroup-port names server group rsp-u, which load balancer lb-1 doesn't have; " +
			"correct it, or make the server group"},
		"group of the user is missing, no listener": {func(d *model.Desired, o *model.Observed) {
			mapped(d)
			o.Listeners = nil
		}, "refused: annotation vgroup-port names server group rsp-u, which load balancer lb-1 doesn't have; " +
			"correct it, or make the server group"},
		"group is no user's": {func(d *model.Desired, o *model.Observed) {
			mapped(d)
			o.Groups = append(o.Groups, model.Group{ID: "rsp-u", Name: us().Group("1")})
		}, "refused: annotation vgroup-port names server group rsp-u, which was made for a Service " +
			"(k8s/1/web/default/c); name one that was made by hand"},
		"group that the cloud keeps": {func(_ *model.Desired, o *model.Observed) {
			o.Groups = append(o.Groups, model.Group{ID: "rsp-2", Name: us().Group("1"), Held: true})
		}, ""},
		"marked": {func(d *model.Desired, o *model.Observed) {
			spec(d).Tags = []*commonv1.Tag{{Key: ownership.TagReused, Value: "true"}}
			present(*o).Tags = []*commonv1.Tag{{Key: ownership.TagReused, Value: "yes"}}
		}, ""},
		"not marked": {func(d *model.Desired, _ *model.Observed) {
			spec(d).Tags = []*commonv1.Tag{{Key: ownership.TagReused, Value: "true"}}
		}, ""},
		"not marked, with another change": {func(d *model.Desired, _ *model.Observed) {
			spec(d).Tags = []*commonv1.Tag{{Key: ownership.TagReused, Value: "true"}}
			spec(d).Name, d.Instance.Asked = "new", Asked{Name: true}
		}, "1. change load balancer: name, tags"},
		"fixed attribute": {func(d *model.Desired, _ *model.Observed) {
			spec(d).Address, d.Instance.Asked = "10.0.0.1", Asked{Address: true}
		}, `refused: annotation ip asks for "10.0.0.1" but the CLB has "", which can't be changed; correct or remove it`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, o := observed()
			d.Reuse, o.Reused = model.Reuse{ID: "lb-1", Listeners: true}, true
			test.change(d, &o)
			wantPlan(t, Diff(d, o), test.want)
		})
	}
}

// B-7: the existing CCM doesn't wait for the deletion of a listener when another takes its port with a new vServer group.
func TestB07ProtocolAndNodePortChangeTogether(t *testing.T) {
	t.Parallel()
	d, o := observed()
	d.Groups[0].Name, d.Listeners[0].Group, d.Listeners[0].Key.Protocol = us().Group("31080"), us().Group("31080"), tcp
	wantPlan(t, Diff(d, o), `
1. create server group k8s/31080/web/default/c with 1 servers
2. delete listener 80/http
3. create listener 80/tcp
4. delete server group k8s/30080/web/default/c`)
}

// TestFollowServers: only servers of groups that there are.
func TestFollowServers(t *testing.T) {
	t.Parallel()
	owner := ownership.Owner{Service: "web", Namespace: "default", ClusterID: "c-1"}
	server := func(id, group string) model.Server {
		return model.Server{ServerKey: model.ServerKey{Type: model.ECS, ID: id, Port: 30080}, Weight: 100, Description: group}
	}
	present, missing, surplus := owner.Group("30080"), owner.Group("30081"), owner.Group("30082")
	desired := &model.Desired{Owner: owner, Groups: []model.Group{
		{Name: present, Servers: []model.Server{server("i-2", present)}}, {Name: missing, Servers: []model.Server{server("i-2", missing)}},
	}}
	observed := model.Observed{InstanceID: "lb-1", Groups: []model.Group{
		{ID: "rsp-1", Name: present, Servers: []model.Server{server("i-1", present)}},
		{ID: "rsp-2", Name: surplus, Servers: []model.Server{server("i-1", surplus)}},
	}}
	want := Plan{Phases: []Phase{{ChangeServers{
		GroupID: "rsp-1", Name: present, Add: []model.Server{server("i-2", present)}, Remove: []model.Server{server("i-1", present)},
	}}}}
	if diff := gocmp.Diff(want, FollowServers(desired, observed)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if len(desired.Groups) != 2 {
		t.Error("the input was changed")
	}
}
