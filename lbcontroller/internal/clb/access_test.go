package clb

import (
	"testing"

	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// TestAccessApart: what restricts who may connect is a change of its own, whole; what restricts nobody is none.
func TestAccessApart(t *testing.T) {
	t.Parallel()
	config := func(scheduler string, on *bool, lists ...string) *slbv1.ListenerConfig {
		c := &slbv1.ListenerConfig{AclEnabled: on, AclIds: lists}
		if scheduler != "" {
			c.Scheduler = &scheduler
		}
		if len(lists) > 0 {
			c.AclType = new(white)
		}
		return c
	}
	on, off := new(true), new(false)
	for name, tt := range map[string]struct{ want, have, guard, others *slbv1.ListenerConfig }{
		"nothing":           {want: config("rr", on, "acl-1"), have: config("rr", on, "acl-1")},
		"no access control": {want: config("rr", nil), have: config("wrr", nil), others: config("rr", nil)},
		"a list comes":      {want: config("rr", on, "acl-1"), have: config("rr", nil), guard: config("", on, "acl-1")},
		"another list": {want: config("rr", on, "acl-1"), have: config("rr", on, "acl-2"),
			guard: config("", on, "acl-1")},
		"it is off": {want: config("rr", on, "acl-1"), have: config("rr", off, "acl-1"), guard: config("", on, "acl-1")},
		"with another change": {want: config("rr", on, "acl-1"), have: config("wrr", nil), guard: config("", on, "acl-1"),
			others: config("rr", nil)},
		"it goes off": {want: config("rr", off), have: config("wrr", on, "acl-1"), others: config("rr", off)},
	} {
		guard, others, refused := Product{}.Changed(tt.want, tt.have)
		same := func(want *slbv1.ListenerConfig, got model.ListenerConfig) bool {
			return want == nil && got == nil || want != nil && got != nil && proto.Equal(want, got)
		}
		if !same(tt.guard, guard) || !same(tt.others, others) || refused != "" {
			t.Errorf("%s: guard %v, others %v, refused %q; want %v and %v", name, guard, others, refused, tt.guard, tt.others)
		}
	}
}

// TestUsesLists: a listener names its list even where access control is off, and goes on doing so.
func TestUsesLists(t *testing.T) {
	t.Parallel()
	there := model.Observed{Listeners: []model.Listener{
		{Config: &slbv1.ListenerConfig{}}, {Config: &slbv1.ListenerConfig{AclEnabled: new(false), AclIds: []string{"acl-2"}}},
	}}
	for list, want := range map[string]bool{"acl-1": false, "acl-2": true} {
		if has, keeps := (Product{}).Uses(there, list); has != want || keeps != want {
			t.Errorf("%s is used %t and kept %t, want %t", list, has, keeps, want)
		}
	}
}
