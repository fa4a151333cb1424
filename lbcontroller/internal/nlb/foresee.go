package nlb

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/vswitch"
)

// shownVSwitches bounds the list of vSwitches in a text.
const shownVSwitches = 10

// Foresee implements lb.Foreseer. What the cloud would refuse about the zones of an NLB shows in the vSwitches of its
// VPC and in the zones that have NLBs. The gateway answers both from memory; what is wrong is read anew, as far as the
// caller wants that.
func (p Product) Foresee(
	ctx context.Context, there model.Observed, coming plan.Plan, anew bool,
) (key, why string, hopeless func(plan.Action) bool) {
	have := present(there)
	w := wish{have: have.GetZoneMappings(), dual: isDual(have)}
	vpc := cmp.Or(have.GetVpcId(), p.VPCID)
	for action := range coming.Actions() {
		switch a := action.(type) {
		case CreateInstance:
			w.zones, vpc = a.Spec.GetZoneMappings(), a.Spec.GetVpcId()
			w.dual = a.Spec.GetIpVersion() == nlbv1.IpVersion_IP_VERSION_DUAL_STACK
		case UpdateInstance:
			if a.Request.GetZoneMappings() != nil && have != nil {
				w.zones, w.becomesPublic = a.Request.GetZoneMappings().GetZoneMappings(), a.Request.AddressType != nil
			}
		}
	}
	if len(w.zones) == 0 {
		return "", "", nil
	}
	if why = p.wrong(ctx, vpc, w, vswitch.Age, zonesAge); why != "" && anew {
		why = p.wrong(ctx, vpc, w, 0, 0)
	}
	return annotation.ZoneMaps, why, w.needs
}

// wrong is what is wrong with zones by lists of these ages. What can't be listed proves nothing.
func (p Product) wrong(ctx context.Context, vpc string, w wish, vSwitches, zones time.Duration) string {
	list, err := vswitch.List(ctx, p.Gateway, vpc, vSwitches)
	if err != nil || len(list) == 0 {
		return ""
	}
	return w.wrongZones(list, p.offered(ctx, zones))
}

// wish is in which zones an NLB is to be, in which it is, and whether it has IPv6 addresses.
type wish struct {
	zones, have []*nlbv1.ZoneMapping
	dual        bool
	// becomesPublic says that the change of zones makes the NLB public, too.
	becomesPublic bool
}

// needs reports whether an action can't be done unless the NLB comes to be in the zones. A bandwidth package is for
// public NLBs. See also UpdateInstance.Needs.
func (w wish) needs(action plan.Action) bool {
	a, _ := action.(UpdateInstance)
	return a.Request.GetZoneMappings() != nil || w.becomesPublic && a.Request.GetBandwidthPackageId() != ""
}

// in is the zone as the NLB has it; nil if it isn't in it.
func (w wish) in(zone string) *nlbv1.ZoneMapping {
	if i := slices.IndexFunc(w.have, func(z *nlbv1.ZoneMapping) bool { return z.GetZoneId() == zone }); i >= 0 {
		return w.have[i]
	}
	return nil
}

// fits reports whether a vSwitch could be one of the NLB.
func (w wish) fits(v *vpcv1.VSwitch, offered []string) bool {
	if has := w.in(v.GetZoneId()); has != nil {
		return has.GetVswitchId() == v.GetVswitchId()
	}
	return (len(offered) == 0 || slices.Contains(offered, v.GetZoneId())) && (!w.dual || v.GetIpv6CidrBlock() != "") &&
		v.GetAvailableIpCount() > 0
}

// wrongZones says what is wrong with zones, by the vSwitches of the VPC and the zones that have NLBs, and which would
// do. It is empty if nothing is known to be wrong.
func (w wish) wrongZones(list []*vpcv1.VSwitch, offered []string) string {
	var wrong []string
	for _, z := range w.zones {
		if text := w.wrongZone(z, list, offered); text != "" {
			wrong = append(wrong, text)
		}
	}
	if len(wrong) == 0 {
		return ""
	}
	var good []string
	for _, v := range list {
		if w.fits(v, offered) {
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

// wrongZone says what is wrong with one zone. Nothing is asked of a zone that stays as it is.
func (w wish) wrongZone(z *nlbv1.ZoneMapping, list []*vpcv1.VSwitch, offered []string) string {
	has := w.in(z.GetZoneId())
	stays := has.GetVswitchId() == z.GetVswitchId()
	if stays && (z.GetPrivateIpv4Address() == "" || z.GetPrivateIpv4Address() == has.GetPrivateIpv4Address()) {
		return ""
	}
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
	case has != nil && !stays:
		return fmt.Sprintf("the NLB is in zone %s by vSwitch %s, which can't be changed while it is in that zone",
			z.GetZoneId(), has.GetVswitchId())
	case !stays && len(offered) > 0 && !slices.Contains(offered, z.GetZoneId()):
		return fmt.Sprintf("the cloud offers no NLBs in zone %s", z.GetZoneId())
	case !stays && w.dual && v.GetIpv6CidrBlock() == "":
		return fmt.Sprintf("vSwitch %s has no IPv6 range, which ip-version DualStack needs", v.GetVswitchId())
	case err == nil && addressErr == nil && !block.Contains(address):
		return fmt.Sprintf("address %s is none of vSwitch %s, which has %s", address, v.GetVswitchId(), block)
	case v.GetAvailableIpCount() == 0:
		return fmt.Sprintf("vSwitch %s has no free address", v.GetVswitchId())
	default:
		return ""
	}
}
