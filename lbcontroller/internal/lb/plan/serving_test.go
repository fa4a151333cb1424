package plan_test

import (
	"strings"
	"testing"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// TestListenerWithServersStays: a listener of ours that has servers goes nowhere where it would have none, whatever the way, and what is in
// its place stays: the server group with its servers, too.
func TestListenerWithServersStays(t *testing.T) {
	t.Parallel()
	const stays = "listener 80/http keeps the servers that it has"
	pods := us().Group("8080")
	pod := model.Server{ServerKey: model.ServerKey{Type: model.ENI, IP: "10.0.0.1", Port: 8080}, Weight: 100, Description: pods}
	toPods := func(d *model.Desired) {
		d.Groups[0] = model.Group{Name: pods, Servers: []model.Server{pod}, Unresolved: []string{pod.IP}}
		d.Listeners[0].Group = pods
	}
	for name, test := range map[string]struct {
		change func(d *model.Desired, o *model.Observed)
		// want is what is done, and refused the beginning of what is refused.
		want, refused string
		waits         bool
	}{
		"pods without a network interface": {change: func(d *model.Desired, _ *model.Observed) { toPods(d) }, refused: stays},
		"pods that are looked up": {change: func(d *model.Desired, _ *model.Observed) {
			toPods(d)
			d.Groups[0].Pending = true
		}, waits: true},
		"some of the pods are looked up": {change: func(d *model.Desired, _ *model.Observed) {
			toPods(d)
			known := pod
			known.ID, known.IP = "eni-2", "10.0.0.2"
			d.Groups[0].Servers, d.Groups[0].Pending = append(d.Groups[0].Servers, known), true
		}, waits: true},
		"a Service without pods": {change: func(d *model.Desired, _ *model.Observed) {
			d.Groups[0], d.Listeners[0].Group = model.Group{Name: pods, Nobody: true}, pods
		}, want: "1. create server group k8s/8080/web/default/c with 0 servers\n2. change listener 80/http: server group\n" +
			"3. delete server group k8s/30080/web/default/c"},
		"a group without servers": {change: func(d *model.Desired, o *model.Observed) {
			d.Groups[0], d.Listeners[0].Group = model.Group{Name: pods}, pods
			o.Groups = append(o.Groups, model.Group{ID: "rsp-2", Name: pods})
		}, refused: stays},
		"a group that keeps its last servers": {change: func(d *model.Desired, o *model.Observed) {
			d.Groups[0], d.Listeners[0].Group = model.Group{Name: pods, KeepLast: true}, pods
			o.Groups = append(o.Groups, model.Group{ID: "rsp-2", Name: pods, Servers: []model.Server{ecs(2, 8080, 100, pods)}})
		}, want: "1. change listener 80/http: server group\n2. delete server group k8s/30080/web/default/c"},
		"servers of weight 0": {change: func(d *model.Desired, _ *model.Observed) {
			name := us().Group("31080")
			d.Groups[0], d.Listeners[0].Group = model.Group{Name: name, Servers: []model.Server{ecs(1, 31080, 0, name)}}, name
		}, refused: stays},
		"a group of the user's that is empty": {change: func(d *model.Desired, o *model.Observed) {
			d.Reuse = model.Reuse{ID: "lb-1", Listeners: true}
			d.Groups[0], d.Listeners[0].Group = model.Group{ID: "rsp-9", Name: "rsp-9"}, "rsp-9"
			o.Groups = append(o.Groups, model.Group{ID: "rsp-9", Name: "by hand"})
		}, refused: stays},
		"a listener that has no server": {change: func(d *model.Desired, o *model.Observed) {
			toPods(d)
			o.Groups[0].Servers = nil
		}, want: "1. create server group k8s/8080/web/default/c with 0 servers\n2. change listener 80/http: server group\n" +
			"3. delete server group k8s/30080/web/default/c"},
		"the built-in group has some, and the listener names none": {change: func(d *model.Desired, o *model.Observed) {
			toPods(d)
			config(o.Listeners[0].Config).ServerGroupId = nil
			o.Groups[0] = model.Group{ID: builtIn, Name: builtIn, BuiltIn: true, Servers: []model.Server{ecs(1, 0, 100, "by hand")}}
		}, refused: stays},
		"the built-in group is empty, and the listener names none": {change: func(d *model.Desired, o *model.Observed) {
			toPods(d)
			config(o.Listeners[0].Config).ServerGroupId = nil
			o.Groups[0] = model.Group{ID: builtIn, Name: builtIn, BuiltIn: true}
		}, want: "1. create server group k8s/8080/web/default/c with 0 servers\n2. change listener 80/http: server group"},
		"the built-in group may have some": {change: func(d *model.Desired, o *model.Observed) {
			toPods(d)
			config(o.Listeners[0].Config).ServerGroupId = nil
			o.Groups = nil
		}, refused: stays},
		"another protocol": {change: func(d *model.Desired, _ *model.Observed) {
			toPods(d)
			d.Listeners[0].Key.Protocol = tcp
		}, refused: stays},
		"a redirect to a listener without servers": {change: func(d *model.Desired, _ *model.Observed) {
			toPods(d)
			d.Listeners = append(d.Listeners, model.Listener{Key: model.ListenerKey{Port: 443, Protocol: https}, Group: pods,
				Config: &slbv1.ListenerConfig{Description: new(us().Listener(443))}})
			redirect(&d.Listeners[0], 443)
		}, want: "1. create server group k8s/8080/web/default/c with 0 servers\n2. create listener 443/https", refused: stays},
		"in place of a redirect to servers": {change: func(d *model.Desired, o *model.Observed) {
			serving := o.Listeners[0]
			serving.Key, serving.Config = model.ListenerKey{Port: 443, Protocol: https},
				&slbv1.ListenerConfig{Description: new(us().Listener(443)), ServerGroupId: new("rsp-1")}
			redirect(&o.Listeners[0], 443)
			o.Listeners = append(o.Listeners, serving)
			same := d.Groups[0]
			d.Listeners = append(d.Listeners, model.Listener{Key: serving.Key, Group: same.Name, Config: &slbv1.ListenerConfig{}})
			toPods(d)
			d.Groups = append(d.Groups, same)
		}, refused: stays},
		"in place of a redirect whose target isn't wanted": {change: func(d *model.Desired, o *model.Observed) {
			serving := o.Listeners[0]
			serving.Key, serving.Config = model.ListenerKey{Port: 443, Protocol: https},
				&slbv1.ListenerConfig{Description: new(us().Listener(443)), ServerGroupId: new("rsp-1")}
			redirect(&o.Listeners[0], 443)
			o.Listeners = append(o.Listeners, serving)
			toPods(d)
		}, refused: stays},
		"of another protocol in place of a redirect whose target isn't wanted": {change: func(d *model.Desired, o *model.Observed) {
			serving := o.Listeners[0]
			serving.Key, serving.Config = model.ListenerKey{Port: 443, Protocol: https},
				&slbv1.ListenerConfig{Description: new(us().Listener(443)), ServerGroupId: new("rsp-1")}
			redirect(&o.Listeners[0], 443)
			o.Listeners = append(o.Listeners, serving)
			toPods(d)
			d.Listeners[0].Key.Protocol = tcp
		}, refused: stays},
		"a certificate that is awaited": {change: func(d *model.Desired, _ *model.Observed) {
			d.Listeners[0].Key.Protocol, d.Listeners[0].Waits = https, "the Secret isn't there"
		}, refused: "listener 80/https isn't made: the Secret isn't there"},
		"another protocol for a group of the user's that isn't there": {change: func(d *model.Desired, _ *model.Observed) {
			d.Reuse = model.Reuse{ID: "lb-1", Listeners: true}
			d.Groups[0] = model.Group{ID: "rsp-9", Name: "rsp-9"}
			d.Listeners[0].Group, d.Listeners[0].Key.Protocol = "rsp-9", tcp
		}, refused: "annotation vgroup-port names server group rsp-9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, o := observed()
			test.change(d, &o)
			p := Diff(d, o)
			refused := p.Refused
			if p.Refused = nil; p.Waits != test.waits || (len(p.Kept) > 0) != (test.refused == stays) {
				t.Errorf("waits %t, keeps %v", p.Waits, p.Kept)
			}
			wantPlan(t, p, test.want)
			if len(refused) != min(len(test.refused), 1) || len(refused) > 0 && !strings.HasPrefix(refused[0], test.refused) {
				t.Errorf("refused are %q, want %q", refused, test.refused)
			}
		})
	}
}
