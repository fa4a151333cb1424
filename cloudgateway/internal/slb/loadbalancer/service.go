// Package loadbalancer serves LoadBalancerService: CLB instances.
package loadbalancer

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
	"alicloud-controllers.dev/cloudgateway/internal/slb/listener"
	"alicloud-controllers.dev/cloudgateway/internal/slb/servergroup"
)

// kind describes CLB instances.
func kind(observe func(*slbv1.LoadBalancer)) cloud.Kind[slbv1.LoadBalancer] {
	const perPage = 100 // the greatest page of DescribeLoadBalancers (SLB API reference)
	return cloud.Kind[slbv1.LoadBalancer]{
		Name: "load balancer", Cache: "loadbalancers", NotFound: rpcerr.LoadBalancerNotFound, IDs: "load_balancer_ids",
		Listing: cloud.Listing[*slbv1.LoadBalancer]{
			Action: "DescribeLoadBalancers", Items: "LoadBalancers.LoadBalancer", Decode: decode,
			ID: (*slbv1.LoadBalancer).GetLoadBalancerId, PerPage: perPage,
		},
		Filters: map[string]cloud.Filter{
			"load_balancer_ids":    cloud.CommaList("LoadBalancerId", slb.IDsPerCall),
			"name":                 cloud.Param("LoadBalancerName"),
			"address_type":         cloud.Param("AddressType").Lower(),
			"ip_version":           cloud.Param("AddressIPVersion").Lower(),
			"server_address":       cloud.Param("ServerIntranetAddress"),
			"primary_zone_id":      cloud.Param("MasterZoneId"),
			"standby_zone_id":      cloud.Param("SlaveZoneId"),
			"status":               cloud.Param("LoadBalancerStatus"),
			"internet_charge_type": cloud.Param("InternetChargeType").Lower(),
		},
		Observe:   observe,
		Gathering: cloud.Gathering{Parallel: slb.ParallelReads},
	}
}

// Service implements slbv1.LoadBalancerServiceServer.
type Service struct {
	slbv1.UnimplementedLoadBalancerServiceServer

	product   *slb.Product
	listeners *listener.Service
	groups    *servergroup.Service
	balancers *cloud.Collection[slbv1.LoadBalancer]
	zones     *batch.Reader[string, []*slbv1.ZonePair] // one entry
}

// New makes a Service.
func New(p *slb.Product, listeners *listener.Service, groups *servergroup.Service) *Service {
	s := &Service{
		product: p, listeners: listeners, groups: groups, zones: cloud.NewCache[[]*slbv1.ZonePair](p.Shared, "zones"),
		balancers: cloud.NewCollection(p.API, p.Shared, kind(p.Observe)),
	}
	p.OnWrite(s.balancers.Forget)
	return s
}

// Owner is how the scopes of callers see load balancers.
func (s *Service) Owner() cloud.Owner { return s.balancers }

// GetLoadBalancer reads one instance, with VIEW_FULL everything that belongs to it. A part that can't be read fails the whole:
// callers must never see half an instance.
func (s *Service) GetLoadBalancer(ctx context.Context, r *slbv1.GetLoadBalancerRequest) (*slbv1.GetLoadBalancerResponse, error) {
	found, err := s.read(ctx, r)
	return cloud.Answer(&slbv1.GetLoadBalancerResponse{LoadBalancer: found}, err)
}

func (s *Service) read(ctx context.Context, r *slbv1.GetLoadBalancerRequest) (*slbv1.LoadBalancer, error) {
	id, maxAge := r.GetLoadBalancerId(), r.GetMaxAge().AsDuration()
	if r.GetView() != slbv1.View_VIEW_FULL {
		return s.balancers.Get(ctx, id, r.GetMaxAge())
	}
	var (
		lb        *slbv1.LoadBalancer
		listeners []*slbv1.Listener
		groups    []*slbv1.ServerGroup
	)
	parts, partCtx := errgroup.WithContext(ctx)
	parts.Go(func() (err error) { lb, err = s.balancers.Get(partCtx, id, r.GetMaxAge()); return err })
	parts.Go(func() (err error) { listeners, err = s.listeners.Of(partCtx, id, maxAge); return err })
	parts.Go(func() (err error) {
		groups, err = s.groups.WithServers(partCtx, id, maxAge, r.GetServerGroupIds(), r.GetServerGroupNamePrefixes())
		return err
	})
	if err := parts.Wait(); err != nil {
		return nil, cloud.OfWhole(rpcerr.LoadBalancerNotFound, err)
	}
	lb = proto.CloneOf(lb)
	lb.Listeners, lb.ServerGroups = listeners, groups
	return lb, nil
}

// ListLoadBalancers reads every instance that matches, ordered by id.
func (s *Service) ListLoadBalancers(
	ctx context.Context, r *slbv1.ListLoadBalancersRequest,
) (*slbv1.ListLoadBalancersResponse, error) {
	found, err := s.balancers.List(ctx, r)
	return cloud.Answer(&slbv1.ListLoadBalancersResponse{LoadBalancers: found}, err)
}

// CreateLoadBalancer buys an instance. The request id is the cloud's ClientToken, so it may be sent again.
func (s *Service) CreateLoadBalancer(
	ctx context.Context, r *slbv1.CreateLoadBalancerRequest,
) (*slbv1.CreateLoadBalancerResponse, error) {
	defer s.balancers.ForgetLists()
	lb, answer := created(r)
	err := s.product.Set(ctx, "CreateLoadBalancer", createParams(r), answer)
	if lb.GetAddressType() == slbv1.AddressType_ADDRESS_TYPE_UNSPECIFIED {
		lb.AddressType = slbv1.AddressType_ADDRESS_TYPE_INTERNET
		if lb.GetVswitchId() != "" {
			lb.AddressType = slbv1.AddressType_ADDRESS_TYPE_INTRANET
		}
	}
	return cloud.Answer(&slbv1.CreateLoadBalancerResponse{LoadBalancer: lb}, err)
}

// UpdateLoadBalancer changes the attributes that are present, one call each, in the order of their field numbers.
func (s *Service) UpdateLoadBalancer(
	ctx context.Context, r *slbv1.UpdateLoadBalancerRequest,
) (*slbv1.UpdateLoadBalancerResponse, error) {
	err := s.product.Exclusively(ctx, r.GetLoadBalancerId(), func(ctx context.Context, _ *slb.Writer) error {
		for _, u := range updates(r) {
			if err := s.update(ctx, r.GetLoadBalancerId(), u); err != nil {
				return err
			}
		}
		return nil
	})
	return cloud.Answer(&slbv1.UpdateLoadBalancerResponse{}, err)
}

// update is one call of UpdateLoadBalancer.
type update struct {
	action string
	params cloud.Params
	tags   bool
	// done reports whether an instance is as it shall be; nil: the cloud accepts the same change again.
	done func(*slbv1.LoadBalancer) bool
}

// update makes a change. If the cloud refuses to make what is already, the change is done: an attempt whose answer was lost may have
// made it, of this gateway or of the one before.
func (s *Service) update(ctx context.Context, id string, u update) error {
	err := s.product.Set(ctx, u.action, u.params, nil)
	if u.tags {
		err = cloud.WithNotFoundReason(rpcerr.LoadBalancerNotFound, err)
	}
	if u.done == nil || rpcerr.ReasonOf(err) != rpcerr.InvalidState {
		return err
	}
	if lb, readErr := s.balancers.Look(ctx, id); readErr == nil && lb != nil && u.done(lb) {
		return nil
	}
	return err
}

func updates(r *slbv1.UpdateLoadBalancerRequest) []update {
	var list []update
	add := func(action string, params cloud.Params, done func(*slbv1.LoadBalancer) bool) {
		list = append(list, update{action: action, params: params, done: done})
	}
	instance := func() cloud.Params { return cloud.Params{"LoadBalancerId": r.GetLoadBalancerId()} }
	if r.Name != nil {
		add("SetLoadBalancerName", instance().With("LoadBalancerName", r.GetName()), nil)
	}
	if r.InstanceChargeType != nil {
		params := instance().With("InstanceChargeType", instanceChargeType(r.GetInstanceChargeType()))
		add("ModifyLoadBalancerInstanceChargeType", params,
			func(lb *slbv1.LoadBalancer) bool { return lb.GetInstanceChargeType() == r.GetInstanceChargeType() })
	}
	if r.Spec != nil {
		add("ModifyLoadBalancerInstanceSpec", instance().With("LoadBalancerSpec", r.GetSpec()),
			func(lb *slbv1.LoadBalancer) bool { return lb.GetSpec() == r.GetSpec() })
	}
	if spec := r.GetInternetSpec(); spec != nil {
		add("ModifyLoadBalancerInternetSpec", instance().
			With("InternetChargeType", slb.Word(spec.GetChargeType())).
			Int("Bandwidth", int(spec.GetBandwidthMbps())), nil)
	}
	if r.DeleteProtection != nil {
		add("SetLoadBalancerDeleteProtection", instance().With("DeleteProtection", word(r.GetDeleteProtection(), "on", "off")), nil)
	}
	if protection := r.GetModificationProtection(); protection != nil {
		add("SetLoadBalancerModificationProtection", instance().Merge(protectionParams(protection)), nil)
	}
	for _, call := range cloud.TagCalls(openapi.SLB, "instance", r.GetLoadBalancerId(), r.GetSetTags(), r.GetRemoveTagKeys()) {
		list = append(list, update{action: call.Action, params: call.Params, tags: true})
	}
	if r.ResourceGroupId != nil {
		params := cloud.Params{"ResourceType": "loadbalancer", "ResourceId": r.GetLoadBalancerId(), "NewResourceGroupId": r.GetResourceGroupId()}
		add("MoveResourceGroup", params, func(lb *slbv1.LoadBalancer) bool { return lb.GetResourceGroupId() == r.GetResourceGroupId() })
	}
	if r.Active != nil {
		add("SetLoadBalancerStatus", instance().With("LoadBalancerStatus", word(r.GetActive(), "active", "inactive")), nil)
	}
	return list
}

// DeleteLoadBalancer releases an instance with all that belongs to it.
func (s *Service) DeleteLoadBalancer(
	ctx context.Context, r *slbv1.DeleteLoadBalancerRequest,
) (*slbv1.DeleteLoadBalancerResponse, error) {
	id := r.GetLoadBalancerId()
	defer s.groups.Forget() // Its groups go with it, whichever they are.
	err := s.product.Exclusively(ctx, id, func(ctx context.Context, _ *slb.Writer) error {
		err := s.product.Set(ctx, "DeleteLoadBalancer", cloud.Params{"LoadBalancerId": id}, nil)
		return cloud.Unless(err, rpcerr.LoadBalancerNotFound)
	})
	return cloud.Answer(&slbv1.DeleteLoadBalancerResponse{}, err)
}

// zoneAddressType reads the words in the answer about zones, which are others than those of instances. Private addresses of the classic
// network ("classic_intranet") are not among them: no instance with one can be created through the gateway.
func zoneAddressType(word string) slbv1.AddressType {
	switch word {
	case "classic_internet":
		return slbv1.AddressType_ADDRESS_TYPE_INTERNET
	case "vpc":
		return slbv1.AddressType_ADDRESS_TYPE_INTRANET
	}
	return slbv1.AddressType_ADDRESS_TYPE_UNSPECIFIED
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
				PrimaryZoneId: pair.GetPrimaryZoneId(), StandbyZoneId: pair.GetStandbyZoneId(), Offers: offers,
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
		return cmp.Or(strings.Compare(a.GetPrimaryZoneId(), b.GetPrimaryZoneId()), strings.Compare(a.GetStandbyZoneId(), b.GetStandbyZoneId()))
	})
	return all, err
}

func decodePair(item []byte) (*slbv1.ZonePair, error) {
	pair := &slbv1.ZonePair{}
	err := cloud.Decode(item, cloud.Fields{
		"MasterZoneId": &pair.PrimaryZoneId, "SlaveZoneId": &pair.StandbyZoneId,
		"SupportResources": cloud.Fields{"SupportResource": cloud.Each(&pair.Offers, decodeOffer)},
	})
	pair.Offers = slices.DeleteFunc(pair.GetOffers(), func(o *slbv1.AddressOffer) bool {
		return o.GetAddressType() == 0 ||
			o.GetIpVersion() == 0
	})
	return pair, err
}

func decodeOffer(item []byte) (*slbv1.AddressOffer, error) {
	o := &slbv1.AddressOffer{}
	return o, cloud.Decode(item, cloud.Fields{
		"AddressType": cloud.Via(&o.AddressType, zoneAddressType), "AddressIPVersion": cloud.Via(&o.IpVersion, cloud.Named),
	})
}
