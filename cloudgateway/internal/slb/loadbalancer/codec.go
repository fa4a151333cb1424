package loadbalancer

import (
	"cmp"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

const (
	consoleProtection = "ConsoleProtection"
	nonProtection     = "NonProtection"
)

// word is the first if something is so, else the second.
func word(so bool, yes, no string) string {
	if so {
		return yes
	}
	return no
}

// protectionParams encodes the console protection.
func protectionParams(p *slbv1.ModificationProtection) cloud.Params {
	if !p.GetEnabled() {
		return cloud.Params{"ModificationProtectionStatus": nonProtection}
	}
	return cloud.Params{"ModificationProtectionStatus": consoleProtection}.With("ModificationProtectionReason", p.GetReason())
}

func createParams(r *slbv1.CreateLoadBalancerRequest) cloud.Params {
	p := cloud.Params{}.
		With("ClientToken", r.GetRequestId()).
		With("LoadBalancerName", r.GetName()).
		With("AddressType", slb.Word(r.GetAddressType())).
		With("AddressIPVersion", slb.Word(r.GetIpVersion())).
		With("Address", r.GetAddress()).
		With("VpcId", r.GetVpcId()).
		With("VSwitchId", r.GetVswitchId()).
		With("MasterZoneId", r.GetPrimaryZoneId()).
		With("SlaveZoneId", r.GetStandbyZoneId()).
		With("LoadBalancerSpec", r.GetSpec()).
		With("InstanceChargeType", instanceChargeType(r.GetInstanceChargeType())).
		With("InternetChargeType", slb.Word(r.GetInternetChargeType())).
		Int("Bandwidth", int(r.GetBandwidthMbps())).
		With("ResourceGroupId", r.GetResourceGroupId())
	if r.GetDeleteProtection() {
		p["DeleteProtection"] = "on"
	}
	if r.GetModificationProtection().GetEnabled() {
		p.Merge(protectionParams(r.GetModificationProtection()))
	}
	return cloud.Tags(p, r.GetTags())
}

// created is the new instance as it was asked for, and where the answer of CreateLoadBalancer goes, which has some of it.
func created(r *slbv1.CreateLoadBalancerRequest) (*slbv1.LoadBalancer, *cloud.Fields) {
	lb := &slbv1.LoadBalancer{}
	r.ProtoReflect().Range(func(asked protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field := lb.ProtoReflect().Descriptor().Fields().ByName(asked.Name()); field != nil {
			lb.ProtoReflect().Set(field, value)
		}
		return true
	})
	unlessEmpty := func(into *string) *cloud.Decoder {
		asked := *into
		return cloud.Via(into, func(text string) string { return cmp.Or(text, asked) })
	}
	return lb, &cloud.Fields{
		"LoadBalancerId":   cloud.Required(&lb.LoadBalancerId),
		"LoadBalancerName": unlessEmpty(&lb.Name),
		"Address":          &lb.Address,
		"AddressIPVersion": cloud.Via(&lb.IpVersion, cloud.Named),
		"NetworkType":      &lb.NetworkType,
		"VpcId":            unlessEmpty(&lb.VpcId),
		"VSwitchId":        unlessEmpty(&lb.VswitchId),
		"ResourceGroupId":  unlessEmpty(&lb.ResourceGroupId),
	}
}

// decode reads one instance in the answer to DescribeLoadBalancers.
func decode(item []byte) (*slbv1.LoadBalancer, error) {
	lb, protected := &slbv1.LoadBalancer{ModificationProtection: &slbv1.ModificationProtection{}}, &slbv1.ModificationProtection{}
	charge, alias := "", ""
	err := cloud.Decode(item, cloud.Fields{
		"LoadBalancerId":               &lb.LoadBalancerId,
		"LoadBalancerName":             &lb.Name,
		"LoadBalancerStatus":           &lb.Status,
		"LoadBalancerSpec":             &lb.Spec,
		"Address":                      &lb.Address,
		"AddressType":                  cloud.Via(&lb.AddressType, cloud.Named),
		"AddressIPVersion":             cloud.Via(&lb.IpVersion, cloud.Named),
		"NetworkType":                  &lb.NetworkType,
		"VpcId":                        &lb.VpcId,
		"VSwitchId":                    &lb.VswitchId,
		"MasterZoneId":                 &lb.PrimaryZoneId,
		"SlaveZoneId":                  &lb.StandbyZoneId,
		"InstanceChargeType":           cloud.Via(&lb.InstanceChargeType, cloud.Named),
		"InternetChargeType":           &charge,
		"InternetChargeTypeAlias":      &alias,
		"Bandwidth":                    &lb.BandwidthMbps,
		"DeleteProtection":             cloud.Via(&lb.DeleteProtection, slb.Is("on")),
		"ModificationProtectionStatus": cloud.Via(&protected.Enabled, slb.Is(consoleProtection)),
		"ModificationProtectionReason": &protected.Reason,
		"ResourceGroupId":              &lb.ResourceGroupId,
		"CreateTimeStamp":              cloud.Via(&lb.CreationTime, slb.Moment),
		"PayType":                      cloud.Via(&lb.Subscription, slb.Is("PrePay")),
		"ServiceManagedMode":           cloud.Via(&lb.ServiceManaged, slb.Is("Managed")),
		"Tags":                         cloud.TagsInto(&lb.Tags),
	})
	if err != nil {
		return nil, fmt.Errorf("decode load balancer %s: %w", lb.GetLoadBalancerId(), err)
	}
	lb.InternetChargeType = cmp.Or(internetChargeType(alias), internetChargeType(charge))
	if protected.GetEnabled() {
		lb.ModificationProtection = protected
	}
	return lb, nil
}

// internetChargeType reads the word, or the number that the listing has in its place.
func internetChargeType(word string) slbv1.InternetChargeType {
	switch word {
	case "3":
		return slbv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_BANDWIDTH
	case "4":
		return slbv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_TRAFFIC
	}
	return cloud.Named[slbv1.InternetChargeType](word)
}

// instanceChargeType gives the cloud's word, which has capitals that the name doesn't show.
func instanceChargeType(t slbv1.InstanceChargeType) string {
	return strings.Replace(cloud.Word(t), "Clcu", "CLCU", 1)
}
