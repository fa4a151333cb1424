package nlb_test

import (
	"fmt"
	"strings"
	"testing"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// TestShiftedZones: which zones go out of the name and come back, for an NLB that is in h and i.
func TestShiftedZones(t *testing.T) {
	t.Parallel()
	const zones, notListed = "change load balancer: zones; ", "of which at least one stays"
	for name, tt := range map[string]struct {
		there       string // zones that are out
		annotations []string
		plan        string // what is sent, or what is refused
	}{
		"nothing is asked for":      {"h", nil, ""},
		"one goes out":              {"", []string{annotation.ShiftedZones, "h"}, "[h]"},
		"it is out":                 {"h", []string{annotation.ShiftedZones, "h"}, ""},
		"another is out":            {"i", []string{annotation.ShiftedZones, "h"}, "[h]"},
		"none is to be out":         {"h", []string{annotation.ShiftedZones, "none"}, "[]"},
		"none is out":               {"", []string{annotation.ShiftedZones, "none"}, ""},
		"twice the same":            {"", []string{annotation.ShiftedZones, "h,h"}, "[h]"},
		"all":                       {"", []string{annotation.ShiftedZones, "h,i"}, "asks for all zones of the NLB"},
		"one that it isn't in":      {"", []string{annotation.ShiftedZones, "j"}, `asks for "j", and the NLB isn't in that zone`},
		"a slip":                    {"", []string{annotation.ShiftedZones, "h i"}, "use ids of zones"},
		"one that isn't listed":     {"", []string{annotation.ZoneMaps, "h:vsw-h,i:vsw-i", annotation.ShiftedZones, "j"}, notListed},
		"all that are listed":       {"", []string{annotation.ZoneMaps, "h:vsw-h,i:vsw-i", annotation.ShiftedZones, "h,i"}, notListed},
		"one that comes now":        {"", []string{annotation.ZoneMaps, "h:vsw-h,j:vsw-j", annotation.ShiftedZones, "j"}, zones + "[j]"},
		"one that stays out":        {"h", []string{annotation.ZoneMaps, "h:vsw-h,j:vsw-j", annotation.ShiftedZones, "h"}, zones},
		"one goes that was out":     {"i", []string{annotation.ZoneMaps, "h:vsw-h,j:vsw-j", annotation.ShiftedZones, "none"}, zones + "[]"},
		"the annotation is removed": {"h", []string{annotation.Applied, annotation.ShiftedZones}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			svc := web()
			for i := 0; i < len(tt.annotations); i += 2 {
				key := tt.annotations[i]
				if key != annotation.Applied {
					key = annotation.Prefix + key
				}
				svc.Annotations[key] = tt.annotations[i+1]
			}
			first, err := build(web())
			if err != nil {
				t.Fatal(err)
			}
			there := carriedOut(plan.Diff(nlb.Product{}, first.Desired, model.Nothing()), model.Nothing())
			balancer, _ := there.Instance.(nlb.Balancer)
			balancer.ZoneMappings = []*nlbv1.ZoneMapping{{ZoneId: "h", VswitchId: "vsw-h"}, {ZoneId: "i", VswitchId: "vsw-i"}}
			for _, z := range balancer.GetZoneMappings() {
				z.Shifted = z.GetZoneId() == tt.there
			}
			next, err := build(svc)
			if err != nil {
				if tt.plan == "" || !strings.Contains(err.Error(), tt.plan) {
					t.Errorf("got %v, want %q", err, tt.plan)
				}
				return
			}
			p := plan.Diff(nlb.Product{}, next.Desired, there)
			var got strings.Builder
			for a := range p.Actions() {
				if change, ok := a.(nlb.UpdateInstance); ok && change.Request.GetShiftedZones() != nil {
					fmt.Fprint(&got, change.Request.GetShiftedZones().GetZoneIds())
				} else {
					fmt.Fprintf(&got, "%s; ", a)
				}
			}
			got.WriteString(strings.Join(p.Refused, "; "))
			if got.String() != tt.plan && (len(p.Refused) == 0 || !strings.Contains(got.String(), tt.plan)) {
				t.Errorf("the plan is %q, want %q", got.String(), tt.plan)
			}
			if len(p.Refused) > 0 {
				return
			}
			if rest := plan.Diff(nlb.Product{}, next.Desired, carriedOut(p, there)); !rest.Empty() {
				t.Errorf("after %q there is left: %s", got.String(), rest)
			}
		})
	}
}
