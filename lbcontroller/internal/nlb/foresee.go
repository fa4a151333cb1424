package nlb

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/vswitch"
)

// shownVSwitches bounds the list of vSwitches in a text.
const shownVSwitches = 10

// Explain implements lb.Explainer. What the cloud refuses about the zones of an NLB shows in the vSwitches. They are read after the refusal
// only: a creation that goes well needs no such call.
func (p Product) Explain(ctx context.Context, there model.Observed, refused plan.Action) (key, why string) {
	var zones []*nlbv1.ZoneMapping
	vpc, dual := p.VPCID, isDual(present(there))
	switch a := refused.(type) {
	case CreateInstance:
		zones, vpc, dual = a.Spec.GetZoneMappings(), a.Spec.GetVpcId(), a.Spec.GetIpVersion() == nlbv1.IpVersion_IP_VERSION_DUAL_STACK
	case UpdateInstance:
		zones = a.Request.GetZoneMappings().GetZoneMappings()
	}
	if len(zones) == 0 {
		return "", ""
	}
	list, err := vswitch.List(ctx, p.Gateway, vpc, vswitch.Age)
	if err != nil || len(list) == 0 { // Nothing more is known then than what the cloud has said.
		return "", ""
	}
	return annotation.ZoneMaps, wrongZones(zones, dual, list, p.offered(ctx))
}

// wrongZones says what is wrong with zones, by the vSwitches of the VPC and the zones that have NLBs, and which would do. It is empty if
// nothing is known to be wrong.
func wrongZones(zones []*nlbv1.ZoneMapping, dual bool, list []*vpcv1.VSwitch, offered []string) string {
	var wrong []string
	for _, z := range zones {
		if text := wrongZone(z, dual, list, offered); text != "" {
			wrong = append(wrong, text)
		}
	}
	if len(wrong) == 0 {
		return ""
	}
	var good []string
	for _, v := range list {
		if (len(offered) == 0 || slices.Contains(offered, v.GetZoneId())) && (!dual || v.GetIpv6CidrBlock() != "") {
			good = append(good, v.GetZoneId()+":"+v.GetVswitchId())
		}
	}
	text := strings.Join(wrong, ", and ")
	switch more := len(good) - shownVSwitches; {
	case len(good) == 0:
		return text + "; no vSwitch of the VPC would do"
	case more > 0:
		return fmt.Sprintf("%s; what would do: %s, and %d more", text, strings.Join(good[:shownVSwitches], ", "), more)
	default:
		return text + "; what would do: " + strings.Join(good, ", ")
	}
}

// wrongZone says what is wrong with one zone.
func wrongZone(z *nlbv1.ZoneMapping, dual bool, list []*vpcv1.VSwitch, offered []string) string {
	i := slices.IndexFunc(list, func(v *vpcv1.VSwitch) bool { return v.GetVswitchId() == z.GetVswitchId() })
	if i < 0 {
		return fmt.Sprintf("the VPC has no vSwitch %s", z.GetVswitchId())
	}
	v := list[i]
	block, err := netip.ParsePrefix(v.GetCidrBlock())
	address, addressErr := netip.ParseAddr(z.GetPrivateIpv4Address())
	switch {
	case v.GetZoneId() != z.GetZoneId():
		return fmt.Sprintf("vSwitch %s is in zone %s and not in %s", v.GetVswitchId(), v.GetZoneId(), z.GetZoneId())
	case len(offered) > 0 && !slices.Contains(offered, z.GetZoneId()):
		return fmt.Sprintf("the cloud offers no NLBs in zone %s", z.GetZoneId())
	case dual && v.GetIpv6CidrBlock() == "":
		return fmt.Sprintf("vSwitch %s has no IPv6 range, which ip-version DualStack needs", v.GetVswitchId())
	case err == nil && addressErr == nil && !block.Contains(address):
		return fmt.Sprintf("address %s is none of vSwitch %s, which has %s", address, v.GetVswitchId(), block)
	case v.GetAvailableIpCount() == 0:
		return fmt.Sprintf("vSwitch %s has no free address", v.GetVswitchId())
	default:
		return ""
	}
}
