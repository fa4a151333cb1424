package plan_test

import (
	"testing"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// TestOrderOfListeners: users' connections hang on what comes first. A new listener waits for no deletion except that of the one whose port
// it takes, and the cloud deletes no listener that another one redirects to.
func TestOrderOfListeners(t *testing.T) {
	t.Parallel()
	const udp, https = model.UDP, model.HTTPS
	listener := func(port int32, protocol model.Protocol, forward int32) model.Listener {
		l := model.Listener{Key: model.ListenerKey{Port: port, Protocol: protocol},
			Config: &slbv1.ListenerConfig{Description: new(us().Listener(port))}}
		if forward == 0 {
			l.Group, config(l.Config).ServerGroupId = us().Group("30080"), new("rsp-1")
		} else {
			redirect(&l, forward)
		}
		return l
	}
	for name, test := range map[string]struct {
		want, have []model.Listener
		plan       string
	}{
		"a new port beside one that goes": {
			want: []model.Listener{listener(81, tcp, 0)}, have: []model.Listener{listener(82, tcp, 0)},
			plan: "1. create listener 81/tcp\n2. delete listener 82/tcp",
		},
		"over UDP where TCP goes": {
			want: []model.Listener{listener(81, udp, 0)}, have: []model.Listener{listener(81, tcp, 0)},
			plan: "1. create listener 81/udp\n2. delete listener 81/tcp",
		},
		"another protocol over TCP": {
			want: []model.Listener{listener(81, tcp, 0)}, have: []model.Listener{listener(81, https, 0)},
			plan: "1. delete listener 81/https\n2. create listener 81/tcp",
		},
		"a redirect and its target go": {
			have: []model.Listener{listener(81, http, 443), listener(443, https, 0)},
			plan: "1. delete listener 81/http\n2. delete listener 443/https",
		},
		"a redirect gets another target, and the old one goes": {
			want: []model.Listener{listener(81, http, 8443), listener(8443, https, 0)},
			have: []model.Listener{listener(81, http, 443), listener(443, https, 0)},
			plan: "1. create listener 8443/https\n2. delete listener 81/http\n3. delete listener 443/https\n4. create listener 81/http",
		},
	} {
		d, o := observed()
		d.Listeners, o.Listeners = append(d.Listeners, test.want...), append(o.Listeners, test.have...)
		wantPlan(t, Diff(d, o), test.plan)
		if t.Failed() {
			t.Fatalf("that was %q", name)
		}
	}
}

// TestUnreadDefaultGroup: a group that was not read is not taken for an empty one, unless the instance is new.
func TestUnreadDefaultGroup(t *testing.T) {
	t.Parallel()
	d, o := observed()
	d.Groups = append(d.Groups, model.Group{ID: builtIn, Name: builtIn, BuiltIn: true,
		Servers: []model.Server{ecs(1, 0, 100, us().Group("default"))}})
	p := Diff(d, o)
	for action := range p.Actions() {
		t.Errorf("it would %s", action)
	}
	if len(p.Refused) != 1 {
		t.Errorf("refused are %q", p.Refused)
	}
}
