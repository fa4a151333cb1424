package plan_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// TestExtensions: further certificates of https listeners follow the annotation, by domain.
func TestExtensions(t *testing.T) {
	t.Parallel()
	certificate := func(id, domain, certificate string) model.FurtherCertificates {
		return model.FurtherCertificates{ID: id, Domain: domain, Certificates: []string{certificate}}
	}
	a, b := certificate("", "a.example.com", "cert-a"), certificate("", "b.example.com", "cert-b")
	thereA, thereB := certificate("de-1", "A.example.com", "cert-a"), certificate("de-2", "b.example.com", "cert-old")
	for name, test := range map[string]struct {
		want, have []model.FurtherCertificates
		text       string
	}{
		"none asked for": {nil, []model.FurtherCertificates{thereA}, ""},
		"not read":       {[]model.FurtherCertificates{a}, nil, ""},
		"new": {[]model.FurtherCertificates{a, b}, []model.FurtherCertificates{},
			"1. give listener 443/https certificate cert-a for a.example.com\n1. give listener 443/https certificate cert-b for b.example.com"},
		"there": {[]model.FurtherCertificates{a}, []model.FurtherCertificates{thereA}, ""},
		"another one": {[]model.FurtherCertificates{a, b}, []model.FurtherCertificates{thereA, thereB},
			"1. change the certificate of listener 443/https for b.example.com to cert-b"},
		"one no more": {[]model.FurtherCertificates{a}, []model.FurtherCertificates{thereB, thereA},
			"1. take the certificate for b.example.com off listener 443/https"},
		"one for another": {[]model.FurtherCertificates{a}, []model.FurtherCertificates{thereB},
			"1. give listener 443/https certificate cert-a for a.example.com\n2. take the certificate for b.example.com off listener 443/https"},
		"all of them": {[]model.FurtherCertificates{}, []model.FurtherCertificates{thereB, thereA},
			"1. take the certificate for A.example.com off listener 443/https\n1. take the certificate for b.example.com off listener 443/https"},
	} {
		d, o := observed()
		d.Listeners[0].Key, o.Listeners[0].Key = model.ListenerKey{Port: 443, Protocol: https}, model.ListenerKey{Port: 443, Protocol: https}
		d.Listeners[0].Further, o.Listeners[0].Further = test.want, test.have
		// Another listener has certificates of its own, of which nothing is said.
		other := model.Listener{Key: model.ListenerKey{Port: 8443, Protocol: https},
			Config: &slbv1.ListenerConfig{Description: new("by hand")}, Further: []model.FurtherCertificates{thereB}}
		o.Listeners = append(o.Listeners, other)
		o = o.Clone()
		p := Diff(d, o)
		wantPlan(t, p, test.text)
		for action := range p.Actions() {
			action.Effect(&o, Result{CertificatesID: "de-new"})
		}
		wantPlan(t, Diff(d, o), "")
		if diff := gocmp.Diff([]model.FurtherCertificates{thereB}, o.Listeners[1].Further); diff != "" {
			t.Errorf("another listener (-want +got):\n%s", diff)
		}
		if t.Failed() {
			t.Fatalf("that was %q", name)
		}
	}
}

// TestChangedCertificateKeepsItsID: the cloud changes a domain extension by its id, and gives a new one its id.
func TestChangedCertificateKeepsItsID(t *testing.T) {
	t.Parallel()
	key := model.ListenerKey{Port: 443, Protocol: https}
	o := model.Observed{Listeners: []model.Listener{{Key: key, Further: []model.FurtherCertificates{
		{ID: "de-1", Domain: "a.example.com", Certificates: []string{"cert-a"}},
		{ID: "de-2", Domain: "b.example.com", Certificates: []string{"cert-b"}},
	}}}}
	phases := plan.ChangeOfCertificates(model.Listener{Key: key,
		Further: []model.FurtherCertificates{{Domain: "b.example.com", Certificates: []string{"cert-c"}},
			{Domain: "d.example.com", Certificates: []string{"cert-d"}}}}, o.Listeners[0])
	for _, phase := range phases {
		for _, action := range phase {
			action.Effect(&o, Result{CertificatesID: "de-3"})
		}
	}
	want := []model.FurtherCertificates{{ID: "de-2", Domain: "b.example.com", Certificates: []string{"cert-c"}},
		{ID: "de-3", Domain: "d.example.com", Certificates: []string{"cert-d"}}}
	if diff := gocmp.Diff(want, o.Listeners[0].Further); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNewListenerGetsItsCertificates: it exists before they come, and has none until then.
func TestNewListenerGetsItsCertificates(t *testing.T) {
	t.Parallel()
	d, o := observed()
	o.Listeners = nil
	d.Listeners[0].Key = model.ListenerKey{Port: 443, Protocol: https}
	d.Listeners[0].Further = []model.FurtherCertificates{{Domain: "a.example.com", Certificates: []string{"cert-a"}}}
	p := Diff(d, o)
	wantPlan(t, p, "1. create listener 443/https\n2. give listener 443/https certificate cert-a for a.example.com")
	p.Phases[0][0].Effect(&o, Result{})
	wantPlan(t, Diff(d, o), "1. give listener 443/https certificate cert-a for a.example.com")
}

// TestUnread: the further certificates of a listener are read where they are asked for and not known, and nowhere else.
func TestUnread(t *testing.T) {
	t.Parallel()
	key := model.ListenerKey{Port: 443, Protocol: https}
	asked := []model.FurtherCertificates{{Domain: "a.example.com", Certificates: []string{"cert-a"}}}
	for name, test := range map[string]struct {
		want, have []model.FurtherCertificates
		unread     []model.ListenerKey
	}{
		"none asked for": {nil, nil, nil},
		"not known":      {asked, nil, []model.ListenerKey{key}},
		"known":          {asked, []model.FurtherCertificates{}, nil},
	} {
		d := &model.Desired{Listeners: []model.Listener{{Key: key, Further: test.want}}}
		o := model.Observed{InstanceID: "lb-1", Listeners: []model.Listener{{Key: key, Further: test.have},
			{Key: model.ListenerKey{Port: 80, Protocol: http}}}}
		if diff := gocmp.Diff(test.unread, Unread(d, o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if known := Knows(d, o); known != (test.unread == nil) {
			t.Errorf("%s: known %t", name, known)
		}
	}
}
