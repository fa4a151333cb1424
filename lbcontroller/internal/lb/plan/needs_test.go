package plan_test

import (
	"testing"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// TestNeeds lists what holds back what. Only the group that a listener forwards to, its port and the target of its redirect do.
func TestNeeds(t *testing.T) {
	t.Parallel()
	tcp := func(port int32) model.ListenerKey {
		return model.ListenerKey{Port: port, Protocol: model.TCP}
	}
	udp := model.ListenerKey{Port: 80, Protocol: model.UDP}
	create := func(key model.ListenerKey, group GroupRef, forward int32) CreateListener {
		return CreateListener{Listener: model.Listener{Key: key, LeadsTo: forward, Config: &slbv1.ListenerConfig{}}, Group: group}
	}
	group := CreateGroup{Group: model.Group{Name: "a"}}
	servers := ChangeServers{GroupID: "rsp-b", Name: "b"}
	for name, test := range map[string]struct {
		action, earlier Action
		want            bool
	}{
		"anything without an instance":          {servers, CreateInstance{}, true},
		"a listener without its group":          {create(tcp(80), GroupRef{Name: "a"}, 0), group, true},
		"a listener of another group":           {create(tcp(80), GroupRef{ID: "rsp-b", Name: "b"}, 0), group, false},
		"a listener whose servers were refused": {create(tcp(80), GroupRef{ID: "rsp-b", Name: "b"}, 0), servers, false},
		"going over to a group without servers": {UpdateListener{Key: tcp(80), Group: GroupRef{ID: "rsp-b", Name: "b"}}, servers, true},
		"an attribute of a listener":            {UpdateListener{Key: tcp(80)}, servers, false},
		"a listener after another":              {create(tcp(81), GroupRef{}, 0), create(tcp(80), GroupRef{}, 0), false},
		"a redirect without its target":         {create(tcp(80), GroupRef{}, 443), create(tcp(443), GroupRef{}, 0), true},
		"a port that is taken":                  {create(tcp(80), GroupRef{}, 0), DeleteListener{Key: tcp(80)}, true},
		"a port that is taken by http": {create(tcp(80), GroupRef{}, 0),
			DeleteListener{Key: model.ListenerKey{Port: 80, Protocol: http}}, true},
		"a port that is taken over UDP":       {create(udp, GroupRef{}, 0), DeleteListener{Key: udp}, true},
		"a number that is taken over UDP":     {create(tcp(80), GroupRef{}, 0), DeleteListener{Key: udp}, false},
		"another port that is taken":          {create(tcp(81), GroupRef{}, 0), DeleteListener{Key: tcp(80)}, false},
		"going over to another group":         {UpdateListener{Key: tcp(80), Group: GroupRef{ID: "rsp-a", Name: "a"}}, servers, false},
		"an attribute after a start":          {UpdateListener{Key: tcp(80)}, StartListener{Key: tcp(81)}, false},
		"a listener after a start":            {create(tcp(80), GroupRef{}, 0), StartListener{Key: tcp(81)}, false},
		"a redirect beside a target over UDP": {create(tcp(81), GroupRef{}, 80), create(udp, GroupRef{}, 0), false},
		"a number that is taken over TCP":     {create(udp, GroupRef{}, 0), DeleteListener{Key: tcp(80)}, false},
		"the target of a redirect": {DeleteListener{Key: tcp(443)},
			DeleteListener{Key: tcp(80), Old: model.Listener{LeadsTo: 443}}, true},
		"another listener that goes":             {DeleteListener{Key: tcp(443)}, DeleteListener{Key: tcp(80)}, false},
		"a group that a listener may still use":  {DeleteGroup{GroupID: "rsp-b"}, UpdateListener{Key: tcp(80)}, true},
		"servers that may still serve":           {servers, DeleteListener{Key: tcp(80), GroupID: servers.GroupID}, true},
		"servers of another listener":            {servers, DeleteListener{Key: tcp(80), GroupID: "rsp-other"}, false},
		"servers beside those of another group":  {servers, ChangeServers{GroupID: "rsp-c"}, false},
		"an instance that may be protected":      {DeleteInstance{}, UpdateInstance{}, true},
		"attributes of an instance":              {UpdateInstance{}, create(tcp(80), GroupRef{}, 0), false},
		"a certificate without its listener":     {AddCertificates{Key: tcp(443)}, create(tcp(443), GroupRef{}, 0), true},
		"a certificate beside another listener":  {AddCertificates{Key: tcp(443)}, create(tcp(80), GroupRef{}, 0), false},
		"starting a listener beside a bad group": {StartListener{Key: tcp(80)}, group, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Needs(test.action, test.earlier); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// opening is a change that lets others connect.
type opening struct{ UpdateInstance }

func (opening) Opens() bool { return true }

// opened is a kind whose load balancer is opened and renamed.
type opened struct{ clb.Product }

func (opened) Update(*model.Desired, model.Observed) ([]Action, []string) {
	return []Action{opening{UpdateInstance{What: []string{"address type"}}}, UpdateInstance{What: []string{"name"}}}, nil
}

// TestOpeningComesLast: what lets others connect comes after all that is taken away, and after all other changes.
func TestOpeningComesLast(t *testing.T) {
	t.Parallel()
	d, o := observed()
	o.Groups = append(o.Groups, model.Group{ID: "rsp-2", Name: us().Group("30443")})
	wantPlan(t, plan.Diff(opened{}, d, o), "1. delete server group k8s/30443/web/default/c\n1. change load balancer: name\n"+
		"2. change load balancer: address type")
}
