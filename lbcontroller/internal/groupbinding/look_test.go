package groupbinding_test

import (
	"testing"

	"alicloud-controllers.dev/lbcontroller/internal/groupbinding"
)

// TestLook: what the cloud says of each server group that a binding can name.
func TestLook(t *testing.T) {
	t.Parallel()
	of := func(kind, lb, id, name string) groupbinding.ServerGroup {
		return groupbinding.ServerGroup{Kind: kind, LoadBalancerID: lb, ID: id, Name: name}
	}
	play(t, false, func(w *world) {
		looker := groupbinding.Looker{Gateway: w.cloud.Client(), VPCID: "vpc-test"}
		for _, c := range []struct {
			named  groupbinding.ServerGroup
			id     string
			reason string
		}{
			{of("NLB", "nlb-1", "sgp-web", ""), "sgp-web", ""},
			{of("NLB", "nlb-1", "", "web"), "sgp-web", ""},
			{of("NLB", "nlb-1", "sgp-udp", ""), "sgp-udp", ""},
			{of("NLB", "nlb-1", "sgp-none", ""), "", "ServerGroupNotFound"},
			{of("NLB", "nlb-1", "", "none"), "", "ServerGroupNotFound"},
			{of("NLB", "nlb-1", "", "twice"), "", "Ambiguous"},
			{of("NLB", "nlb-1", "sgp-x", ""), "sgp-x", ""},
			{of("NLB", "nlb-1", "sgp-away", ""), "", "OtherVPC"},
			{of("NLB", "nlb-1", "sgp-made", ""), "", "BelongsToService"},
			{of("NLB", "nlb-1", "sgp-old", ""), "", "BelongsToService"},
			{of("NLB", "nlb-1", "sgp-all", ""), "", "Unsupported"},
			{of("NLB", "nlb-none", "sgp-web", ""), "", "LoadBalancerNotFound"},
			{of("NLB", "nlb-away", "sgp-web", ""), "", "OtherVPC"},
			{of("NLB", "nlb-made", "sgp-web", ""), "", "BelongsToService"},
			{of("CLB", "lb-1", "rsp-web", ""), "rsp-web", ""},
			{of("CLB", "lb-1", "", "web"), "rsp-web", ""},
			{of("CLB", "lb-1", "rsp-none", ""), "", "ServerGroupNotFound"},
			{of("CLB", "lb-1", "", "twice"), "", "Ambiguous"},
			{of("CLB", "lb-1", "rsp-old", ""), "", "BelongsToService"},
			{of("CLB", "lb-none", "rsp-web", ""), "", "LoadBalancerNotFound"},
			{of("CLB", "lb-away", "rsp-web", ""), "", "OtherVPC"},
			{of("CLB", "lb-made", "rsp-web", ""), "", "BelongsToService"},
		} {
			group, refused, err := looker.Look(w.t.Context(), c.named)
			if err != nil || group.ID != c.id || refused.Reason != c.reason {
				t.Errorf("%+v: %q %q %v, want %q %q", c.named, group.ID, refused.Reason, err, c.id, c.reason)
			}
		}
	})
}
