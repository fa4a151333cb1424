package clb

import (
	"slices"
	"testing"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// TestDefaultsOfListeners: a new listener has what the table of annotations says, and gets it back when an annotation is removed.
func TestDefaultsOfListeners(t *testing.T) {
	t.Parallel()
	onOff := map[bool]string{true: "on", false: "off"}
	web := listenerDefaults(model.HTTP)
	for key, value := range map[string]string{
		annotation.Scheduler:       listenerDefaults(model.TCP).GetScheduler(),
		annotation.StickySession:   onOff[web.GetStickySession()],
		annotation.HealthCheckFlag: onOff[web.GetHealthCheck().GetEnabled()],
	} {
		n := slices.IndexFunc(annotation.Table(), func(s annotation.Spec) bool { return s.Key == key })
		if spec := annotation.Table()[n]; spec.Default != value || spec.Reset != value {
			t.Errorf("a new listener has %s %q; annotation/table.go says Default %q, Reset %q", key, value, spec.Default, spec.Reset)
		}
	}
}
