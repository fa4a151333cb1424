package plan_test

import (
	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// CLB is the example of a kind. Its names and those of the package in short.
type (
	Action             = plan.Action
	Plan               = plan.Plan
	Phase              = plan.Phase
	Result             = plan.Result
	GroupRef           = plan.GroupRef
	CreateInstance     = clb.CreateInstance
	UpdateInstance     = clb.UpdateInstance
	DeleteInstance     = plan.DeleteInstance
	CreateGroup        = plan.CreateGroup
	ChangeServers      = plan.ChangeServers
	ChangeList         = plan.ChangeList
	DeleteGroup        = plan.DeleteGroup
	CreateListener     = plan.CreateListener
	UpdateListener     = plan.UpdateListener
	StartListener      = plan.StartListener
	DeleteListener     = plan.DeleteListener
	AddCertificates    = plan.AddCertificates
	ChangeCertificates = plan.ChangeCertificates
	RemoveCertificates = plan.RemoveCertificates
	Asked              = clb.Asked
)

func Diff(d *model.Desired, o model.Observed) Plan { return plan.Diff(clb.Product{}, d, o) }

func DiffServers(d *model.Desired, o model.Observed) (Plan, bool) { return plan.DiffServers(d, o) }

func FollowServers(d *model.Desired, o model.Observed) Plan { return plan.FollowServers(d, o) }

func Release(o model.Observed, preserve bool) Plan {
	if !preserve {
		return plan.Release(clb.Product{}, o, nil)
	}
	return plan.Release(clb.Product{}, o, &commonv1.Tag{Key: "kept", Value: "here"})
}

func Leave(owner ownership.Owner, reuse model.Reuse, o model.Observed) Plan {
	return plan.Leave(owner, reuse, o)
}

func Needs(action, earlier Action) bool { return plan.Needs(action, earlier) }

func KeyText(k model.ListenerKey) string { return plan.KeyText(k) }

// spec is what is asked of the CLB.
func spec(d *model.Desired) *slbv1.CreateLoadBalancerRequest {
	s, _ := d.Instance.Spec.(*slbv1.CreateLoadBalancerRequest)
	return s
}

func Servers(a Action) []model.Server { return plan.Servers(a) }

func Name(a Action) string { return plan.Name(a) }

func Knows(d *model.Desired, o model.Observed) bool { return plan.Knows(d, o) }

func Unread(d *model.Desired, o model.Observed) []model.ListenerKey { return plan.Unread(d, o) }

// config are the attributes of a listener.
func config(c model.ListenerConfig) *slbv1.ListenerConfig {
	attributes, _ := c.(*slbv1.ListenerConfig)
	return attributes
}

// present is the CLB that there is.
func present(o model.Observed) *slbv1.LoadBalancer {
	there, _ := o.Instance.(*slbv1.LoadBalancer)
	return there
}

// changed are the attributes of a listener that differ.
func changed(want, have *slbv1.ListenerConfig) *slbv1.ListenerConfig {
	guard, others, _ := clb.Product{}.Changed(want, have)
	if guard == nil && others == nil {
		return nil
	}
	all := &slbv1.ListenerConfig{}
	for _, part := range []model.ListenerConfig{guard, others} {
		if part != nil {
			proto.Merge(all, part)
		}
	}
	return all
}

// redirect makes a listener one that leads to another and has no servers of its own.
func redirect(l *model.Listener, to int32) {
	l.Group, l.LeadsTo = "", to
	config(l.Config).ForwardPort, config(l.Config).ServerGroupId = &to, nil
}
