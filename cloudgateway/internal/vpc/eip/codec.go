package eip

import (
	"cmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// decode reads one EIP in the answer to DescribeEipAddresses.
func decode(item []byte) (*vpcv1.Eip, error) {
	e, misspelt := &vpcv1.Eip{}, ""
	err := cloud.Decode(item, cloud.Fields{
		"AllocationId":       &e.AllocationId,
		"IpAddress":          &e.IpAddress,
		"Status":             &e.Status,
		"InstanceId":         &e.InstanceId,
		"InstanceType":       &e.InstanceType,
		"Bandwidth":          &e.BandwidthMbps,
		"InternetChargeType": cloud.Via(&e.InternetChargeType, cloud.Named),
		"ChargeType":         cloud.Via(&e.InstanceChargeType, cloud.Named),
		"Name":               &e.Name,
		"Description":        &e.Description,
		"Descritpion":        &misspelt, //nolint:misspell // As in the cloud.
		"Tags":               cloud.TagsInto(&e.Tags),
		"ResourceGroupId":    &e.ResourceGroupId,
		"ISP":                &e.Isp,
		"RegionId":           &e.RegionId,
		"PrivateIpAddress":   &e.PrivateIpAddress,
		"BandwidthPackageId": &e.BandwidthPackageId,
		"DeletionProtection": &e.DeletionProtection,
		"BusinessStatus":     &e.BusinessStatus,
		"AllocationTime":     cloud.Via(&e.CreationTime, cloud.Time),
		"ExpiredTime":        cloud.Via(&e.ExpirationTime, cloud.Time),
	})
	e.Description = cmp.Or(e.GetDescription(), misspelt)
	if e.GetInstanceChargeType() != commonv1.ChargeType_CHARGE_TYPE_PRE_PAID {
		e.ExpirationTime = nil // It may be a date that stands for never.
	}
	return e, err
}
