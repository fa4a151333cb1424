package plan_test

import (
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

const (
	bySpec      = slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC
	byCLCU      = slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_CLCU
	byTraffic   = slbv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_TRAFFIC
	byBandwidth = slbv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_BANDWIDTH
	internet    = slbv1.AddressType_ADDRESS_TYPE_INTERNET
	intranet    = slbv1.AddressType_ADDRESS_TYPE_INTRANET
)

// presentInstance is an instance whose every attribute has a value.
func presentInstance() *slbv1.LoadBalancer {
	return &slbv1.LoadBalancer{
		LoadBalancerId: "lb-1", Name: "a", AddressType: internet, Address: "1.1.1.1", PrimaryZoneId: "z-1", StandbyZoneId: "z-2",
		ResourceGroupId:    "rg-1",
		InstanceChargeType: bySpec, Spec: "s1", InternetChargeType: byBandwidth, BandwidthMbps: 5, DeleteProtection: true,
		ModificationProtection: &slbv1.ModificationProtection{Enabled: true, Reason: "r"}, Tags: []*commonv1.Tag{{Key: "theirs", Value: "x"}},
	}
}

// TestInstanceFollowsTheAnnotations: what differs is changed in one call, what isn't asked for stays, and then there is nothing left to do.
func TestInstanceFollowsTheAnnotations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec  *slbv1.CreateLoadBalancerRequest
		asked Asked
		what  string
		after func(*slbv1.LoadBalancer)
	}{
		"nothing is asked": {spec: &slbv1.CreateLoadBalancerRequest{Name: "b", Spec: "s2", InstanceChargeType: byCLCU,
			InternetChargeType: byTraffic, Address: "2.2.2.2"}},
		"all is asked and there": {
			spec: &slbv1.CreateLoadBalancerRequest{
				Name: "a", AddressType: internet, Address: "1.1.1.1", PrimaryZoneId: "z-1", StandbyZoneId: "z-2",
				ResourceGroupId: "rg-1", InstanceChargeType: bySpec, Spec: "s1",
				InternetChargeType: byBandwidth, BandwidthMbps: 5, DeleteProtection: true,
				ModificationProtection: &slbv1.ModificationProtection{Enabled: true},
			},
			asked: Asked{
				AddressType: true, Address: true, IPVersion: true, Zones: true, ResourceGroup: true, Name: true,
				DeleteProtection: true, ModificationProtection: true,
				InstanceChargeType: true, Spec: true, InternetChargeType: true, Bandwidth: true,
			},
		},
		"name": {
			spec: &slbv1.CreateLoadBalancerRequest{Name: "b"}, asked: Asked{Name: true}, what: "name",
			after: func(lb *slbv1.LoadBalancer) { lb.Name = "b" },
		},
		"spec": {
			spec: &slbv1.CreateLoadBalancerRequest{Spec: "s2"}, asked: Asked{Spec: true}, what: "spec",
			after: func(lb *slbv1.LoadBalancer) { lb.Spec = "s2" },
		},
		"instance charge type": {
			spec: &slbv1.CreateLoadBalancerRequest{InstanceChargeType: byCLCU}, asked: Asked{InstanceChargeType: true}, what: "instance charge type",
			after: func(lb *slbv1.LoadBalancer) { lb.InstanceChargeType = byCLCU },
		},
		"instance charge type, and a spec that has no effect then": {
			spec:  &slbv1.CreateLoadBalancerRequest{InstanceChargeType: byCLCU, Spec: "s2"},
			asked: Asked{InstanceChargeType: true, Spec: true}, what: "instance charge type",
			after: func(lb *slbv1.LoadBalancer) { lb.InstanceChargeType = byCLCU },
		},
		"bandwidth": {
			spec:  &slbv1.CreateLoadBalancerRequest{InternetChargeType: byBandwidth, BandwidthMbps: 9},
			asked: Asked{InternetChargeType: true, Bandwidth: true}, what: "internet charge type and bandwidth",
			after: func(lb *slbv1.LoadBalancer) { lb.BandwidthMbps = 9 },
		},
		"bandwidth that isn't asked for": {
			spec: &slbv1.CreateLoadBalancerRequest{InternetChargeType: byBandwidth, BandwidthMbps: 9}, asked: Asked{InternetChargeType: true},
		},
		"internet charge type": {
			spec:  &slbv1.CreateLoadBalancerRequest{InternetChargeType: byTraffic, BandwidthMbps: 9},
			asked: Asked{InternetChargeType: true, Bandwidth: true}, what: "internet charge type and bandwidth",
			after: func(lb *slbv1.LoadBalancer) { lb.InternetChargeType = byTraffic },
		},
		"delete protection": {
			spec: &slbv1.CreateLoadBalancerRequest{}, asked: Asked{DeleteProtection: true}, what: "delete protection",
			after: func(lb *slbv1.LoadBalancer) { lb.DeleteProtection = false },
		},
		"modification protection": {
			spec: &slbv1.CreateLoadBalancerRequest{}, asked: Asked{ModificationProtection: true}, what: "modification protection",
			after: func(lb *slbv1.LoadBalancer) { lb.ModificationProtection = &slbv1.ModificationProtection{} },
		},
		"tag": {
			spec: &slbv1.CreateLoadBalancerRequest{Tags: []*commonv1.Tag{{Key: "ours", Value: "y"}}}, what: "tags",
			after: func(lb *slbv1.LoadBalancer) {
				lb.Tags = []*commonv1.Tag{{Key: "ours", Value: "y"}, {Key: "theirs", Value: "x"}}
			},
		},
		"tag of another Service": {
			// Whose the instance is, is decided before; a plan doesn't take it over.
			spec: &slbv1.CreateLoadBalancerRequest{Tags: []*commonv1.Tag{{Key: ownership.TagCluster, Value: "c-2"}, {Key: "theirs", Value: "x"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, o := observed()
			d.Instance, o.Instance = model.Instance{Spec: test.spec, Asked: test.asked}, presentInstance()
			p := Diff(d, o)
			want, after := "", presentInstance()
			if test.what != "" {
				want = "1. change load balancer: " + test.what
				test.after(after)
			}
			wantPlan(t, p, want)
			for action := range p.Actions() {
				action.Effect(&o, Result{})
			}
			if diff := gocmp.Diff(after, o.Instance, protocmp.Transform()); diff != "" {
				t.Errorf("the instance afterwards (-want +got):\n%s", diff)
			}
			wantPlan(t, Diff(d, o), "")
		})
	}
}

// TestDroppedTagsGo: those of ours that are asked for no more.
func TestDroppedTagsGo(t *testing.T) {
	t.Parallel()
	d, o := observed()
	o.Instance = presentInstance()
	present(o).Tags = append(present(o).Tags, &commonv1.Tag{Key: "ours", Value: "y"})
	d.Instance.DroppedTags = []string{"ours"}
	p := Diff(d, o)
	wantPlan(t, p, "1. change load balancer: tags")
	p.Phases[0][0].Effect(&o, Result{})
	if diff := gocmp.Diff(presentInstance(), o.Instance, protocmp.Transform()); diff != "" {
		t.Errorf("the instance afterwards (-want +got):\n%s", diff)
	}
}

// TestWhatCanNotBeChanged: the refusal names the annotation, both values and the way out.
func TestWhatCanNotBeChanged(t *testing.T) {
	t.Parallel()
	refused := func(annotation, want, have string) string {
		return fmt.Sprintf(
			"refused: annotation %s asks for %q but the CLB has %q, which can't be changed; restore it or "+
				"recreate the Service", annotation, want, have)
	}
	for name, test := range map[string]struct {
		spec  *slbv1.CreateLoadBalancerRequest
		asked Asked
		want  string
	}{
		"address type": {&slbv1.CreateLoadBalancerRequest{AddressType: intranet}, Asked{AddressType: true},
			refused("address-type", "intranet", "internet")},
		"ip version": {&slbv1.CreateLoadBalancerRequest{IpVersion: slbv1.IpVersion_IP_VERSION_IPV6},
			Asked{IPVersion: true}, refused("ip-version", "ipv6", "ipv4")},
		"address": {&slbv1.CreateLoadBalancerRequest{Address: "2.2.2.2"}, Asked{Address: true}, refused("ip", "2.2.2.2", "1.1.1.1")},
		"resource group": {&slbv1.CreateLoadBalancerRequest{ResourceGroupId: "rg-2"}, Asked{ResourceGroup: true},
			refused("resource-group-id", "rg-2", "rg-1")},
		"both zones": {
			&slbv1.CreateLoadBalancerRequest{PrimaryZoneId: "z-2", StandbyZoneId: "z-1"}, Asked{Zones: true},
			refused("master-zoneid", "z-2", "z-1") + "\n" + refused("slave-zoneid", "z-1", "z-2"),
		},
		"one zone, which is right":  {&slbv1.CreateLoadBalancerRequest{StandbyZoneId: "z-2"}, Asked{Zones: true}, ""},
		"the other, which is right": {&slbv1.CreateLoadBalancerRequest{PrimaryZoneId: "z-1"}, Asked{Zones: true}, ""},
	} {
		d, o := observed()
		d.Instance, o.Instance = model.Instance{Spec: test.spec, Asked: test.asked}, presentInstance()
		wantPlan(t, Diff(d, o), test.want)
		if t.Failed() {
			t.Fatalf("that was %q", name)
		}
	}
}

// TestNetworkType: it can't be changed, and a CLB whose network the cloud doesn't report is not taken for a wrong one.
func TestNetworkType(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ asked, have, want string }{
		"nothing asked": {"", "classic", ""},
		"the same":      {"vpc", "vpc", ""},
		"not reported":  {"vpc", "", ""},
		"another": {"vpc", "classic",
			`refused: annotation network-type asks for "vpc" but the CLB has "classic", which can't be changed; restore it ` +
				`or recreate the Service`},
	} {
		d, o := observed()
		d.Instance.Asked, present(o).NetworkType = Asked{NetworkType: test.asked}, test.have
		wantPlan(t, Diff(d, o), test.want)
		if t.Failed() {
			t.Fatalf("that was %q", name)
		}
	}
}

// TestMarkOfAUsersInstance: it comes before the first change there, and never alone or on one that has many tags.
func TestMarkOfAUsersInstance(t *testing.T) {
	t.Parallel()
	wrongWeight := func(d *model.Desired, _ *model.Observed) { d.Groups[0].Servers[0].Weight = 5 }
	tags := func(n int) func(*model.Desired, *model.Observed) {
		return func(d *model.Desired, o *model.Observed) {
			wrongWeight(d, o)
			for i := range n {
				present(*o).Tags = append(present(*o).Tags, &commonv1.Tag{Key: fmt.Sprint(i)})
			}
		}
	}
	const servers = "change servers of k8s/30080/web/default/c: add 0, remove 0, update 1"
	for name, test := range map[string]struct {
		change func(*model.Desired, *model.Observed)
		want   string
	}{
		"nothing to do": {func(*model.Desired, *model.Observed) {}, ""},
		"a change":      {wrongWeight, "1. change load balancer: tags\n2. " + servers},
		"nine tags":     {tags(9), "1. change load balancer: tags\n2. " + servers},
		"ten tags":      {tags(10), "1. " + servers},
		"marked": {func(d *model.Desired, o *model.Observed) {
			wrongWeight(d, o)
			present(*o).Tags = []*commonv1.Tag{{Key: ownership.TagReused, Value: "true"}}
		}, "1. " + servers},
		"one of its own": {func(d *model.Desired, o *model.Observed) {
			wrongWeight(d, o)
			spec(d).Tags = []*commonv1.Tag{{Key: ownership.TagCluster, Value: "c"}}
		}, "1. " + servers},
		"another tag": {func(d *model.Desired, _ *model.Observed) {
			spec(d).Tags = append(spec(d).Tags, &commonv1.Tag{Key: "x", Value: "1"})
		}, "1. change load balancer: tags"},
		"a later change of the instance": {func(d *model.Desired, o *model.Observed) {
			wrongWeight(d, o)
			spec(d).Name, d.Instance.Asked = "new", Asked{Name: true}
		}, "1. change load balancer: tags\n2. " + servers + "\n3. change load balancer: name"},
	} {
		d, o := observed()
		d.Reuse, o.Reused = model.Reuse{ID: "lb-1", Listeners: true}, true
		spec(d).Tags = []*commonv1.Tag{{Key: ownership.TagReused, Value: "true"}}
		test.change(d, &o)
		p := Diff(d, o)
		wantPlan(t, p, test.want)
		for action := range p.Actions() {
			action.Effect(&o, Result{})
		}
		wantPlan(t, Diff(d, o), "")
		if t.Failed() {
			t.Fatalf("that was %q", name)
		}
	}
}

// TestNewInstance: what was asked for is taken as given until it is read; id and address come from the answer.
func TestNewInstance(t *testing.T) {
	t.Parallel()
	spec := &slbv1.CreateLoadBalancerRequest{
		Name: "a", AddressType: intranet, IpVersion: slbv1.IpVersion_IP_VERSION_IPV6, Address: "10.0.0.1", VpcId: "vpc-1",
		VswitchId: "vsw-1", PrimaryZoneId: "z-1", StandbyZoneId: "z-2",
		Spec: "s1", InstanceChargeType: bySpec, InternetChargeType: byTraffic, BandwidthMbps: 5, DeleteProtection: true,
		ModificationProtection: &slbv1.ModificationProtection{Enabled: true}, ResourceGroupId: "rg-1",
		Tags: []*commonv1.Tag{{Key: "x", Value: "1"}},
	}
	for answered, want := range map[string]string{"": "10.0.0.1", "10.0.0.2": "10.0.0.2"} {
		o := model.Nothing()
		CreateInstance{Spec: spec}.Effect(&o, Result{Instance: &slbv1.LoadBalancer{LoadBalancerId: "lb-1", Address: answered}})
		got := &slbv1.LoadBalancer{
			LoadBalancerId: "lb-1", Name: "a", AddressType: intranet, IpVersion: slbv1.IpVersion_IP_VERSION_IPV6, Address: want,
			VpcId: "vpc-1", VswitchId: "vsw-1", PrimaryZoneId: "z-1",
			StandbyZoneId: "z-2", Spec: "s1", InstanceChargeType: bySpec, InternetChargeType: byTraffic, BandwidthMbps: 5, DeleteProtection: true,
			ModificationProtection: &slbv1.ModificationProtection{Enabled: true}, ResourceGroupId: "rg-1",
			Tags: []*commonv1.Tag{{Key: "x", Value: "1"}},
		}
		if diff := gocmp.Diff(got, o.Instance, protocmp.Transform()); diff != "" || o.InstanceID != "lb-1" {
			t.Errorf("instance %q (-want +got):\n%s", o.InstanceID, diff)
		}
	}
}

// TestUpdateOfAnUnreadInstance: an instance of which only the groups are known is not invented.
func TestUpdateOfAnUnreadInstance(t *testing.T) {
	t.Parallel()
	o := model.Observed{InstanceID: "lb-1"}
	UpdateInstance{Request: &slbv1.UpdateLoadBalancerRequest{Name: new("a")}}.Effect(&o, Result{})
	if o.Instance != nil {
		t.Errorf("got %v", o.Instance)
	}
}
