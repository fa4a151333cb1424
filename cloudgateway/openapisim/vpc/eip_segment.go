package vpc

import (
	"fmt"
	"net/netip"
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Codes of segments, from the error table of ReleaseEipSegmentAddress (help page, changed last in February 2026).
const (
	noSegment        = "OperationFailed.InstanceNotExist"
	wrongSegment     = "IncorrectEipStatus"
	segmentInUse     = "OperationFailed.EipStatusInvalid"
	segmentInPackage = "Forbidden.EipInBwp"
	segmentProtected = "InvalidOperation.DeletionProtection"
)

// The states of a segment besides Releasing.
const (
	allocating = "Allocating"
	allocated  = "Allocated"
)

// segmentActions have the parameters and members of the types of github.com/alibabacloud-go/vpc-20160428 v6.12.8 (July 2025). Since March
// 2025 the documents call AllocateEipSegmentAddress deprecated, and accounts may be refused it.
func segmentActions() []api.Action {
	token := api.Optional("ClientToken")
	return []api.Action{
		api.Write("AllocateEipSegmentAddress", clienttoken.Once("vpc/AllocateEipSegmentAddress",
			clienttoken.Show("EipSegmentInstanceId"), allocateSegment), []string{"QuotaExceeded.Eip", "InvalidParameter",
			"IdempotentParameterMismatch"}, region(), must(api.Number("EipMask", minBlockBits, maxBlockBits)), api.Number("Bandwidth", 1, 1000),
			api.OneOf("InternetChargeType", payByBandwidth, payByTraffic), api.Optional("Isp"), api.OneOf("Netmode", publicNetwork),
			api.Optional("Zone"), api.Optional("ResourceGroupId"), token),
		api.Read("DescribeEipSegment", describeSegments, nil, append(listing.Params(maxPage), region(), api.Optional("SegmentInstanceId"),
			token)...),
		api.Write("ReleaseEipSegmentAddress", clienttoken.Once("vpc/ReleaseEipSegmentAddress", nil, releaseSegment),
			[]string{noSegment, wrongSegment, segmentInUse, segmentInPackage, segmentProtected, "IdempotentParameterMismatch"}, region(),
			api.Required("SegmentInstanceId"), token),
	}
}

// allocateSegment makes a block of addresses. The cloud keeps a few of a block for itself in some regions; here none.
func allocateSegment(c *api.Context) (string, *api.Error) {
	bits := c.Int("EipMask", maxBlockBits)
	count := 1 << (32 - bits)
	if quota := c.Settings.Quotas.Eips; len(c.State.Eips)+count > quota {
		return "", api.BadRequest("QuotaExceeded.Eip", "Elastic IP address quota exceeded: an account can have %d.", quota)
	}
	block, ok := newBlock(c.State, bits)
	if !ok {
		return "", api.Invalid("EipMask")
	}
	s := &state.EipSegment{ID: c.NewID("eipsg-bp1"), Cidr: block.String(), Zone: c.Get("Zone"), Created: c.Now}
	begin(c, &s.Stage, allocating)
	c.State.EipSegments[s.ID] = s
	for addr := block.Addr(); block.Contains(addr); addr = addr.Next() {
		e := &state.Eip{
			ID: c.NewID("eip-"), Address: addr.String(), Bandwidth: fmt.Sprint(c.Int("Bandwidth", 5)), Status: available,
			InternetChargeType: c.Get("InternetChargeType"), ISP: c.Get("Isp"), ResourceGroupID: c.Get("ResourceGroupId"), Zone: c.Get("Zone"),
			SegmentID: s.ID, Created: c.Now,
		}
		if e.InternetChargeType == "" {
			e.InternetChargeType = payByBandwidth
		}
		c.Keep("", &e.Spelling)
		c.State.Eips[e.ID] = e
	}
	return s.ID, nil
}

// describeSegments shows no names and descriptions: no action gives a segment any.
func describeSegments(c *api.Context) (any, *api.Error) {
	matching := listing.Find(c.State.EipSegments, func(s *state.EipSegment) bool { return listing.Match(c.Get("SegmentInstanceId"), s.ID) })
	return listing.Answer(c, matching, "EipSegments", "EipSegment", func(s *state.EipSegment) api.Object {
		count := 0
		if block, err := netip.ParsePrefix(s.Cidr); err == nil {
			count = 1 << (block.Addr().BitLen() - block.Bits())
		}
		return api.Object{
			"InstanceId", s.ID, "Segment", s.Cidr, "IpCount", strconv.Itoa(count), "Status", s.Stage.Status, "Zone", s.Zone, "RegionId", c.Region,
			"CreationTime", creationTime(s.Created), "Name", "", "Descritpion", "", //nolint:misspell // The cloud's.
		}
	})
}

// releaseSegment releases all addresses of a segment, none of which may be in use.
func releaseSegment(c *api.Context) (string, *api.Error) {
	s := c.State.EipSegments[c.Get("SegmentInstanceId")]
	switch {
	case s == nil:
		return "", api.BadRequest(noSegment, "Operation failed because eip segment instance not exist.")
	case !ready(&s.Stage):
		return "", api.BadRequest(wrongSegment, "The status of the segment does not support this operation.")
	}
	eips := listing.Find(c.State.Eips, func(e *state.Eip) bool { return e.SegmentID == s.ID })
	for _, e := range eips {
		switch {
		case e.DeletionProtection:
			return "", api.BadRequest(segmentProtected, "The address %s is protected from deletion.", e.Address)
		case packageOf(c.State, e.ID) != nil:
			return "", api.BadRequest(segmentInPackage, "The address %s is in an EIP bandwidth plan.", e.Address)
		case e.Status != available:
			return "", api.BadRequest(segmentInUse, "The address %s is %s.", e.Address, e.Status)
		}
	}
	for _, e := range eips {
		delete(c.State.Eips, e.ID)
	}
	begin(c, &s.Stage, releasing)
	return s.ID, nil
}
