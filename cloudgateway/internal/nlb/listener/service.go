// Package listener serves ListenerService of NLB.
package listener

import (
	"context"
	"slices"
	"strings"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/nlb"
)

// certificatesPerCall is how many additional certificates a write may name (NLB API reference).
const certificatesPerCall = 15

// kind describes listeners.
func kind() cloud.Kind[nlbv1.Listener] {
	return cloud.Kind[nlbv1.Listener]{
		Name: "listener", Cache: "nlb_listeners", NotFound: rpcerr.ListenerNotFound, IDs: "listener_ids",
		Listing: cloud.Listing[*nlbv1.Listener]{
			Action: "ListListeners", Items: "Listeners", Decode: decode, ID: (*nlbv1.Listener).GetListenerId, MaxResults: nlb.PageSize,
		},
		Filters: map[string]cloud.Filter{
			"listener_ids":      cloud.Indexed("ListenerIds", nlb.IDsPerCall),
			"load_balancer_ids": cloud.Indexed("LoadBalancerIds", nlb.IDsPerCall),
			"protocol":          cloud.Param("ListenerProtocol").Upper(),
		},
		Gathering: cloud.Gathering{Parallel: nlb.ParallelReads},
	}
}

// Service implements nlbv1.ListenerServiceServer.
type Service struct {
	nlbv1.UnimplementedListenerServiceServer

	product      *nlb.Product
	listeners    *cloud.Collection[nlbv1.Listener]
	certificates *batch.Reader[string, []*nlbv1.ListenerCertificate] // by listener
	health       *batch.Reader[string, []groupHealth]                // by listener
}

// New makes a Service.
func New(p *nlb.Product) *Service {
	s := &Service{
		product: p, listeners: cloud.NewCollection(p.API, p.Shared, kind()),
		certificates: cloud.NewCache[[]*nlbv1.ListenerCertificate](p.Shared, "nlb_listener_certificates"),
		health:       cloud.NewCache[[]groupHealth](p.Shared, "nlb_health"),
	}
	p.Balancers.OnWrite(func(string) { // Listeners are known by their own ids.
		s.listeners.ForgetAll()
		s.certificates.Clear()
		s.health.Clear()
	})
	p.Groups.OnWrite(func(string) { s.health.Clear() })
	return s
}

// GetListener reads one listener.
func (s *Service) GetListener(ctx context.Context, r *nlbv1.GetListenerRequest) (*nlbv1.GetListenerResponse, error) {
	found, err := s.listeners.Get(ctx, r.GetListenerId(), r.GetMaxAge())
	return cloud.Answer(&nlbv1.GetListenerResponse{Listener: found}, err)
}

// LoadBalancerOf gives the load balancer of a listener.
func (s *Service) LoadBalancerOf(ctx context.Context, id string) (string, error) {
	found, err := s.listeners.Get(ctx, id, nil)
	return found.GetLoadBalancerId(), err
}

// ListListeners reads every listener that matches, ordered by id.
func (s *Service) ListListeners(ctx context.Context, r *nlbv1.ListListenersRequest) (*nlbv1.ListListenersResponse, error) {
	found, err := s.listeners.List(ctx, r)
	return cloud.Answer(&nlbv1.ListListenersResponse{Listeners: found}, err)
}

// ListListenerCertificates reads the certificates of a listener, ordered by id.
func (s *Service) ListListenerCertificates(
	ctx context.Context, r *nlbv1.ListListenerCertificatesRequest,
) (*nlbv1.ListListenerCertificatesResponse, error) {
	id := r.GetListenerId()
	found, err := s.certificates.Do(ctx, id, r.GetMaxAge().AsDuration(),
		func(ctx context.Context) ([]*nlbv1.ListenerCertificate, error) {
			return s.describeCertificates(ctx, id)
		})
	return cloud.Answer(&nlbv1.ListListenerCertificatesResponse{Certificates: found}, err)
}

// describeCertificates reads the certificates of a listener now.
func (s *Service) describeCertificates(ctx context.Context, id string) ([]*nlbv1.ListenerCertificate, error) {
	found, err := cloud.Listing[*nlbv1.ListenerCertificate]{
		Action: "ListListenerCertificates", Items: "Certificates", Decode: decodeCertificate, MaxResults: nlb.PageSize,
	}.All(ctx, s.product.API, cloud.Params{"ListenerId": id})
	return cloud.SortedBy(found, (*nlbv1.ListenerCertificate).GetCertificateId), err
}

// ListServerHealth reads what the health checks of a listener found.
func (s *Service) ListServerHealth(ctx context.Context, r *nlbv1.ListServerHealthRequest) (*nlbv1.ListServerHealthResponse, error) {
	id := r.GetListenerId()
	groups, err := s.health.Do(ctx, id, r.GetMaxAge().AsDuration(), func(ctx context.Context) (found []groupHealth, err error) {
		err = cloud.Tokened(ctx, cloud.Params{"ListenerId": id}.Int("MaxResults", nlb.PageSize), func(p cloud.Params) (next string, err error) {
			err = s.product.Read(ctx, "GetListenerHealthStatus", p, &cloud.Fields{
				"NextToken": &next, "ListenerHealthStatus": cloud.Each(new([]bool), func(item []byte) (bool, error) {
					return true, cloud.Decode(item, cloud.Fields{"ServerGroupInfos": cloud.Each(&found, decodeHealth)})
				}),
			})
			return next, err
		})
		return found, err
	})
	answer := &nlbv1.ListServerHealthResponse{}
	for _, g := range groups {
		answer.HealthCheckEnabled = answer.GetHealthCheckEnabled() || g.checked
		answer.Servers = append(answer.Servers, g.servers...)
	}
	return cloud.Answer(answer, err)
}

// CreateListener makes a listener, which then runs.
func (s *Service) CreateListener(ctx context.Context, r *nlbv1.CreateListenerRequest) (*nlbv1.CreateListenerResponse, error) {
	params := cloud.Tags(cloud.Params{"LoadBalancerId": r.GetLoadBalancerId(), "ListenerProtocol": protocolWord(r.GetProtocol())}, r.GetTags())
	if params["ListenerPort"] = "0"; r.GetPort() > 0 {
		params.Int("ListenerPort", int(r.GetPort()))
	} else {
		params.Int("StartPort", int(r.GetStartPort())).Int("EndPort", int(r.GetEndPort()))
	}
	id := ""
	err := nlb.Serially(ctx, s.product.Balancers, r.GetLoadBalancerId(), r, func(ctx context.Context) error {
		w := s.product.Writer("CreateListener", r)
		if err := w.Do(ctx, "CreateListener", "", configParams(params, r.GetConfig()),
			cloud.Fields{"ListenerId": &id}); err != nil || r.GetValidateOnly() {
			return err
		}
		return s.associate(ctx, w, associating, id, r.GetAdditionalCertificateIds())
	})
	return cloud.Answer(&nlbv1.CreateListenerResponse{ListenerId: id}, err)
}

const (
	associating    = "AssociateAdditionalCertificatesWithListener"
	disassociating = "DisassociateAdditionalCertificatesWithListener"
)

// associate gives a listener additional certificates, or takes them from it. Those with which this is so already don't count.
func (s *Service) associate(ctx context.Context, w *nlb.Writer, action, id string, certificates []string) error {
	for some := range slices.Chunk(certificates, certificatesPerCall) {
		params := cloud.Params{"ListenerId": id}.List("AdditionalCertificateIds", some)
		if err := w.Do(ctx, action, strings.Join(some, " "), params, nil); err != nil {
			return err
		}
	}
	return nil
}

// owned makes a change of a listener that is of the load balancer that a request names; one that is gone is an error.
func (s *Service) owned(ctx context.Context, r owned, change func(ctx context.Context, there *nlbv1.Listener) error) error {
	return nlb.Serially(ctx, s.product.Balancers, r.GetLoadBalancerId(), r, func(ctx context.Context) error {
		there, err := s.listeners.Look(ctx, r.GetListenerId())
		switch {
		case err != nil:
			return err
		case there == nil:
			return s.listeners.NotFound(r.GetListenerId())
		case there.GetLoadBalancerId() != r.GetLoadBalancerId():
			return rpcerr.Invalidf("load_balancer_id", "listener %s is of %s; name that load balancer", r.GetListenerId(), there.GetLoadBalancerId())
		}
		return change(ctx, there)
	})
}

// owned is a request to change a listener.
type owned interface {
	nlb.Request
	GetListenerId() string
	GetLoadBalancerId() string
}

// UpdateListener changes what is present in the request.
func (s *Service) UpdateListener(ctx context.Context, r *nlbv1.UpdateListenerRequest) (*nlbv1.UpdateListenerResponse, error) {
	id := r.GetListenerId()
	err := s.owned(ctx, r, func(ctx context.Context, _ *nlbv1.Listener) error {
		w := s.product.Writer("UpdateListener", r)
		if params := configParams(cloud.Params{}, r.GetConfig()); len(params) > 0 {
			if err := w.Do(ctx, "UpdateListenerAttribute", "", params.With("ListenerId", id), nil); err != nil {
				return err
			}
		}
		if err := s.replace(ctx, w, id, r.GetAdditionalCertificates()); err != nil {
			return err
		}
		return w.ChangeTags(ctx, "listener", id, rpcerr.ListenerNotFound, r)
	})
	return cloud.Answer(&nlbv1.UpdateListenerResponse{}, err)
}

// replace makes the additional certificates of a listener those that are wanted, if anything is.
func (s *Service) replace(ctx context.Context, w *nlb.Writer, id string, wanted *nlbv1.CertificateIds) error {
	if wanted == nil {
		return nil
	}
	all, err := s.describeCertificates(ctx, id)
	if err != nil {
		return err
	}
	var add, remove []string
	for _, certificate := range wanted.GetCertificateIds() {
		if !slices.ContainsFunc(all, func(c *nlbv1.ListenerCertificate) bool { return c.GetCertificateId() == certificate }) {
			add = append(add, certificate)
		}
	}
	for _, c := range all {
		if !c.GetDefault() && !c.GetCa() && !slices.Contains(wanted.GetCertificateIds(), c.GetCertificateId()) {
			remove = append(remove, c.GetCertificateId())
		}
	}
	if err := s.associate(ctx, w, associating, id, add); err != nil {
		return err
	}
	return s.associate(ctx, w, disassociating, id, remove)
}

// StartListener lets a listener accept connections.
func (s *Service) StartListener(ctx context.Context, r *nlbv1.StartListenerRequest) (*nlbv1.StartListenerResponse, error) {
	return cloud.Answer(&nlbv1.StartListenerResponse{}, s.turn(ctx, r, "StartListener", nlbv1.ListenerStatus_LISTENER_STATUS_RUNNING))
}

// StopListener makes a listener refuse connections.
func (s *Service) StopListener(ctx context.Context, r *nlbv1.StopListenerRequest) (*nlbv1.StopListenerResponse, error) {
	return cloud.Answer(&nlbv1.StopListenerResponse{}, s.turn(ctx, r, "StopListener", nlbv1.ListenerStatus_LISTENER_STATUS_STOPPED))
}

// turn starts or stops a listener. The cloud refuses to make what is already.
func (s *Service) turn(ctx context.Context, r owned, action string, to nlbv1.ListenerStatus) error {
	return s.owned(ctx, r, func(ctx context.Context, there *nlbv1.Listener) error {
		if there.GetStatus() == to {
			return nil
		}
		return s.product.Writer(action, r).Do(ctx, action, "", cloud.Params{"ListenerId": r.GetListenerId()}, nil)
	})
}

// DeleteListener deletes a listener.
func (s *Service) DeleteListener(ctx context.Context, r *nlbv1.DeleteListenerRequest) (*nlbv1.DeleteListenerResponse, error) {
	err := s.owned(ctx, r, func(ctx context.Context, _ *nlbv1.Listener) error {
		return s.product.Writer("DeleteListener", r).Do(ctx, "DeleteListener", "", cloud.Params{"ListenerId": r.GetListenerId()}, nil)
	})
	return cloud.Answer(&nlbv1.DeleteListenerResponse{}, cloud.Unless(err, rpcerr.ListenerNotFound, rpcerr.LoadBalancerNotFound))
}
