package eip

import (
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// answer is one EIP in the answer to DescribeEipAddresses.
type answer struct {
	AllocationID       string `json:"AllocationId"`
	IPAddress          string `json:"IpAddress"`
	Status             string
	InstanceID         string `json:"InstanceId"`
	InstanceType       string
	Bandwidth          int32
	InternetChargeType string
	ChargeType         string
	Name               string
	Description        string
	Misspelt           string `json:"Descritpion"` //nolint:misspell // As in the cloud.
	Tags               cloud.TagList
	ResourceGroupID    string `json:"ResourceGroupId"`
	ISP                string
	RegionID           string `json:"RegionId"`
	PrivateIPAddress   string `json:"PrivateIpAddress"`
	BandwidthPackageID string `json:"BandwidthPackageId"`
	DeletionProtection bool
	BusinessStatus     string
	AllocationTime     string
	ExpiredTime        string
}

// internetChargeTypes are the cloud's words for how traffic is paid for.
func internetChargeTypes() map[vpcv1.InternetChargeType]string {
	return map[vpcv1.InternetChargeType]string{
		vpcv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_TRAFFIC:   "PayByTraffic",
		vpcv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_BANDWIDTH: "PayByBandwidth",
	}
}

func (a answer) decode() *vpcv1.Eip {
	e := &vpcv1.Eip{
		AllocationId:       a.AllocationID,
		IpAddress:          a.IPAddress,
		Status:             a.Status,
		InstanceId:         a.InstanceID,
		InstanceType:       a.InstanceType,
		BandwidthMbps:      a.Bandwidth,
		InternetChargeType: cloud.Named(internetChargeTypes(), a.InternetChargeType),
		InstanceChargeType: cloud.Named(cloud.ChargeTypes(), a.ChargeType),
		Name:               a.Name,
		Description:        a.Description,
		Tags:               a.Tags.Decode(),
		ResourceGroupId:    a.ResourceGroupID,
		Isp:                a.ISP,
		RegionId:           a.RegionID,
		PrivateIpAddress:   a.PrivateIPAddress,
		BandwidthPackageId: a.BandwidthPackageID,
		DeletionProtection: a.DeletionProtection,
		BusinessStatus:     a.BusinessStatus,
		CreationTime:       cloud.Time(a.AllocationTime),
	}
	if e.GetDescription() == "" {
		e.Description = a.Misspelt
	}
	if a.ChargeType == "PrePaid" { // Others may have a date that stands for never.
		e.ExpirationTime = cloud.Time(a.ExpiredTime)
	}
	return e
}
