package loadbalancer

import (
	"cmp"
	"context"
	"slices"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// zoneAddressTypes are the words for address types in the answer about zones, which are others than those of instances. Private
// addresses of the classic network ("classic_intranet") are not among them: nobody can create an instance with one through the gateway.
func zoneAddressTypes() map[slbv1.AddressType]string {
	return map[slbv1.AddressType]string{
		slbv1.AddressType_ADDRESS_TYPE_INTERNET: "classic_internet",
		slbv1.AddressType_ADDRESS_TYPE_INTRANET: "vpc",
	}
}

// ListAvailableZones reads the pairs of zones that offer what is asked for, ordered by primary and standby zone. The cloud is asked
// for all of them, so that one answer serves every filter.
func (s *Service) ListAvailableZones(
	ctx context.Context, r *slbv1.ListAvailableZonesRequest,
) (*slbv1.ListAvailableZonesResponse, error) {
	all, err := s.zones.Do(ctx, "", r.GetMaxAge().AsDuration(), s.describeZones)
	if err != nil {
		return nil, err
	}
	var found []*slbv1.ZonePair
	for _, pair := range all {
		offers := slices.DeleteFunc(slices.Clone(pair.GetOffers()), func(o *slbv1.AddressOffer) bool {
			return r.GetAddressType() != 0 && r.GetAddressType() != o.GetAddressType() ||
				r.GetIpVersion() != 0 && r.GetIpVersion() != o.GetIpVersion()
		})
		if len(offers) > 0 {
			found = append(found, &slbv1.ZonePair{
				MasterZoneId: pair.GetMasterZoneId(), SlaveZoneId: pair.GetSlaveZoneId(), Offers: offers,
			})
		}
	}
	return &slbv1.ListAvailableZonesResponse{ZonePairs: found}, nil
}

func (s *Service) describeZones(ctx context.Context) ([]*slbv1.ZonePair, error) {
	var all []*slbv1.ZonePair
	err := s.product.Read(ctx, "DescribeAvailableResource", nil, &cloud.Fields{
		"AvailableResources": cloud.Fields{"AvailableResource": cloud.Each(&all, decodePair)},
	})
	slices.SortFunc(all, func(a, b *slbv1.ZonePair) int {
		return cmp.Or(strings.Compare(a.GetMasterZoneId(), b.GetMasterZoneId()), strings.Compare(a.GetSlaveZoneId(), b.GetSlaveZoneId()))
	})
	return all, err
}

func decodePair(item []byte) (*slbv1.ZonePair, error) {
	pair := &slbv1.ZonePair{}
	err := cloud.Decode(item, cloud.Fields{
		"MasterZoneId": &pair.MasterZoneId, "SlaveZoneId": &pair.SlaveZoneId,
		"SupportResources": cloud.Fields{"SupportResource": cloud.Each(&pair.Offers, decodeOffer)},
	})
	pair.Offers = slices.DeleteFunc(pair.GetOffers(), func(o *slbv1.AddressOffer) bool { return o.GetAddressType() == 0 || o.GetIpVersion() == 0 })
	return pair, err
}

func decodeOffer(item []byte) (*slbv1.AddressOffer, error) {
	o := &slbv1.AddressOffer{}
	return o, cloud.Decode(item, cloud.Fields{
		"AddressType": cloud.Word(&o.AddressType, zoneAddressTypes()), "AddressIPVersion": cloud.Word(&o.IpVersion, slb.IPVersions()),
	})
}
