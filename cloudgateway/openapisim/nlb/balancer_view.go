package nlb

import (
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const normalBusiness = "Normal"

// balancerView shows a load balancer.
type balancerView struct {
	RegionID            string       `json:"RegionId"`
	LoadBalancerID      string       `json:"LoadBalancerId"`
	LoadBalancerName    string       `json:"LoadBalancerName"`
	LoadBalancerType    string       `json:"LoadBalancerType"`
	AddressType         string       `json:"AddressType"`
	AddressIPVersion    string       `json:"AddressIpVersion"`
	Ipv6AddressType     string       `json:"Ipv6AddressType,omitempty"`
	LoadBalancerStatus  string       `json:"LoadBalancerStatus"`
	BusinessStatus      string       `json:"LoadBalancerBusinessStatus"`
	VpcID               string       `json:"VpcId"`
	CreateTime          string       `json:"CreateTime"`
	ResourceGroupID     string       `json:"ResourceGroupId"`
	DNSName             string       `json:"DNSName"`
	BandwidthPackageID  string       `json:"BandwidthPackageId,omitempty"`
	CrossZoneEnabled    bool         `json:"CrossZoneEnabled"`
	TrafficAffinity     bool         `json:"TrafficAffinityEnabled"`
	Cps                 int          `json:"Cps,omitempty"`
	SecurityGroupIDs    []string     `json:"SecurityGroupIds"`
	BillingConfig       billing      `json:"LoadBalancerBillingConfig"`
	DeletionProtection  deletion     `json:"DeletionProtectionConfig"`
	ModificationProtect modified     `json:"ModificationProtectionConfig"`
	OperationLocks      []lock       `json:"OperationLocks"`
	ZoneMappings        []zone       `json:"ZoneMappings"`
	Tags                []tags.Short `json:"Tags"`
}

type billing struct {
	PayType            string `json:"PayType"`
	InternetBandwidth  int    `json:"InternetBandwidth,omitempty"`
	InternetChargeType string `json:"InternetChargeType,omitempty"`
}

type deletion struct {
	Enabled     bool   `json:"Enabled"`
	EnabledTime string `json:"EnabledTime,omitempty"`
	Reason      string `json:"Reason,omitempty"`
}

type modified struct {
	Status      string `json:"Status"`
	EnabledTime string `json:"EnabledTime,omitempty"`
	Reason      string `json:"Reason,omitempty"`
}

type lock struct {
	LockReason string `json:"LockReason"`
	LockType   string `json:"LockType"`
}

type zone struct {
	ZoneID                string    `json:"ZoneId"`
	VSwitchID             string    `json:"VSwitchId"`
	Status                string    `json:"Status"`
	EipType               string    `json:"EipType,omitempty"`
	LoadBalancerAddresses []address `json:"LoadBalancerAddresses"`
}

type address struct {
	EniID               string `json:"EniId"`
	PrivateIPv4Address  string `json:"PrivateIPv4Address"`
	PrivateIPv4HcStatus string `json:"PrivateIPv4HcStatus"`
	Ipv6Address         string `json:"Ipv6Address,omitempty"`
	PrivateIPv6HcStatus string `json:"PrivateIPv6HcStatus,omitempty"`
	AllocationID        string `json:"AllocationId,omitempty"`
	PublicIPv4Address   string `json:"PublicIPv4Address,omitempty"`
}

const healthy = "Healthy"

func newBalancerView(c *api.Context, lb *state.NLB) balancerView {
	v := balancerView{
		RegionID: c.Region, LoadBalancerID: lb.ID, LoadBalancerName: lb.Name, LoadBalancerType: "Network", AddressType: lb.AddressType,
		AddressIPVersion: lb.AddressIPVersion, Ipv6AddressType: lb.Ipv6AddressType, LoadBalancerStatus: lb.Status,
		BusinessStatus: normalBusiness, VpcID: lb.VpcID, CreateTime: stamp(lb.Created), ResourceGroupID: lb.ResourceGroupID,
		DNSName: lb.DNSName, BandwidthPackageID: lb.BandwidthPackageID, CrossZoneEnabled: !lb.CrossZoneOff, Cps: lb.Cps,
		SecurityGroupIDs: append([]string{}, lb.SecurityGroupIDs...), BillingConfig: billing{PayType: "PostPay"},
		DeletionProtection:  deletion{lb.Deletion.On, stamp(lb.Deletion.Since), lb.Deletion.Reason},
		ModificationProtect: modified{nonProtection, stamp(lb.Modification.Since), lb.Modification.Reason},
		OperationLocks:      []lock{}, ZoneMappings: make([]zone, 0, len(lb.Zones)), Tags: tags.Shorts(lb.Tags).Tag,
	}
	if lb.Modification.On {
		v.ModificationProtect.Status = consoleProtection
	}
	for _, z := range lb.Zones {
		a := address{
			EniID: z.EniID, PrivateIPv4Address: z.PrivateIP, PrivateIPv4HcStatus: healthy, Ipv6Address: z.Ipv6Address,
			AllocationID: z.AllocationID, PublicIPv4Address: z.PublicIP,
		}
		if a.Ipv6Address != "" {
			a.PrivateIPv6HcStatus = healthy
		}
		shown := zone{ZoneID: z.ZoneID, VSwitchID: z.VSwitchID, Status: z.Status, LoadBalancerAddresses: []address{a}}
		if z.PublicIP != "" {
			shown.EipType = "Common"
		}
		v.ZoneMappings = append(v.ZoneMappings, shown)
	}
	return v
}
