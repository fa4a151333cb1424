package vpc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// GetEip reads one EIP.
func (c *Client) GetEip(ctx context.Context, id string, maxAge time.Duration) (*vpcv1.Eip, error) {
	eip, err := c.eips.Get(ctx, id, maxAge)
	if err == nil && eip == nil {
		err = noEip(id)
	}
	return eip, err
}

func noEip(id string) error {
	return &rpcerr.Error{
		Code: codes.NotFound, Reason: rpcerr.EipNotFound, API: "vpc/DescribeEipAddresses",
		Message: fmt.Sprintf("there is no EIP %s in this region, or the gateway may not see it", id),
	}
}

// ListEips reads every EIP that matches, ordered by id.
func (c *Client) ListEips(ctx context.Context, r *vpcv1.EipServiceListEipsRequest) ([]*vpcv1.Eip, error) {
	maxAge := r.GetMaxAge().AsDuration()
	r = proto.CloneOf(r)
	r.MaxAge, r.AllocationIds, r.IpAddresses = nil, cloud.Sorted(r.GetAllocationIds()), cloud.Sorted(r.GetIpAddresses())
	if ids := r.GetAllocationIds(); len(ids) > 0 && proto.Equal(r, &vpcv1.EipServiceListEipsRequest{AllocationIds: ids}) {
		found, err := batch.Values(c.eips.GetMany(ctx, ids, maxAge))
		return slices.DeleteFunc(found, func(e *vpcv1.Eip) bool { return e == nil }), err
	}
	return c.eipLists.Get(ctx, listKey(r), maxAge, func(ctx context.Context) ([]*vpcv1.Eip, error) {
		filter := cloud.Tags(cloud.Params{}, r.GetTags()).
			With("Status", r.GetStatus()).
			With("EipName", r.GetName()).
			With("AssociatedInstanceType", r.GetAssociatedInstanceType()).
			With("AssociatedInstanceId", r.GetAssociatedInstanceId()).
			With("ISP", r.GetIsp()).
			With("ChargeType", r.GetInstanceChargeType()).
			With("ResourceGroupId", r.GetResourceGroupId())
		var found []*vpcv1.Eip
		for _, ids := range chunksOf(r.GetAllocationIds(), eipsPerCall) {
			for _, addresses := range chunksOf(r.GetIpAddresses(), eipsPerCall) {
				some, err := c.describeEips(ctx, cloud.Params{}.Merge(filter).
					With("AllocationId", strings.Join(ids, ",")).With("EipAddress", strings.Join(addresses, ",")))
				if err != nil {
					return nil, err
				}
				found = append(found, some...)
			}
		}
		return sortedBy(found, (*vpcv1.Eip).GetAllocationId), nil
	})
}

// fetchEips reads at most eipsPerCall EIPs; one that does not exist is not in the answer.
func (c *Client) fetchEips(ctx context.Context, ids []string) (map[string]*vpcv1.Eip, error) {
	list, err := c.describeEips(ctx, cloud.Params{"AllocationId": strings.Join(cloud.Sorted(ids), ",")})
	if err != nil {
		return nil, err
	}
	found := make(map[string]*vpcv1.Eip, len(list))
	for _, e := range list {
		found[e.GetAllocationId()] = e
	}
	return found, nil
}

// describeEips reads all pages of DescribeEipAddresses.
func (c *Client) describeEips(ctx context.Context, filter cloud.Params) ([]*vpcv1.Eip, error) {
	var found []*vpcv1.Eip
	err := cloud.Numbered(ctx, filter, eipsPerPage, func(p cloud.Params) (int, int, error) {
		var answer struct {
			TotalCount   int
			EipAddresses struct{ EipAddress []eipAnswer }
		}
		if err := c.read(ctx, "DescribeEipAddresses", p, &answer); err != nil {
			return 0, 0, err
		}
		for _, a := range answer.EipAddresses.EipAddress {
			found = append(found, a.decode())
		}
		return len(answer.EipAddresses.EipAddress), answer.TotalCount, nil
	})
	return sortedBy(found, (*vpcv1.Eip).GetAllocationId), err
}

// eipAnswer is one EIP in the answer to DescribeEipAddresses.
type eipAnswer struct {
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
	Tags               tagList
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

func (a eipAnswer) decode() *vpcv1.Eip {
	e := &vpcv1.Eip{
		AllocationId:       a.AllocationID,
		IpAddress:          a.IPAddress,
		Status:             a.Status,
		InstanceId:         a.InstanceID,
		InstanceType:       a.InstanceType,
		BandwidthMbps:      a.Bandwidth,
		InternetChargeType: a.InternetChargeType,
		InstanceChargeType: a.ChargeType,
		Name:               a.Name,
		Description:        a.Description,
		Tags:               a.Tags.decode(),
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
