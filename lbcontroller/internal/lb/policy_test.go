package lb_test

import (
	"slices"
	"testing"

	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// TestPolicies is the table of what each policy lets be done.
func TestPolicies(t *testing.T) {
	t.Parallel()
	one := []model.Server{{Weight: 100}}
	tests := []struct {
		action       plan.Action
		sync, upsert bool
	}{
		{clb.CreateInstance{}, true, true},
		{clb.UpdateInstance{}, true, true},
		{plan.DeleteInstance{}, true, false},
		{plan.CreateGroup{}, true, true},
		{plan.ChangeServers{Add: one}, true, true},
		{plan.ChangeServers{Update: one}, true, true},
		{plan.ChangeServers{Remove: one}, true, true},
		{plan.DeleteGroup{}, true, false},
		{plan.CreateListener{}, true, true},
		{plan.UpdateListener{}, true, true},
		{plan.StartListener{}, true, true},
		{plan.DeleteListener{}, true, false},
		{plan.AddCertificates{}, true, true},
		{plan.ChangeCertificates{}, true, true},
		{plan.RemoveCertificates{}, true, false},
	}
	for _, test := range tests {
		got := []bool{Policy("").Allows(test.action), PolicySync.Allows(test.action), PolicyUpsert.Allows(test.action),
			PolicyReport.Allows(test.action)}
		if want := []bool{test.sync, test.sync, test.upsert, false}; !slices.Equal(got, want) {
			t.Errorf("%T: none, sync, upsert-only, report: got %t, want %t", test.action, got, want)
		}
	}
}

// gauge are the values of a metric with one label, without those that are 0.
func (w *world) gauge(name string) map[string]float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			label := ""
			for _, l := range m.GetLabel() {
				label = l.GetValue()
			}
			if v := m.GetGauge().GetValue() + m.GetCounter().GetValue(); v != 0 {
				values[label] = v
			}
		}
	}
	return values
}
