package openapisim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/cas"
	"alicloud-controllers.dev/cloudgateway/openapisim/cs"
	"alicloud-controllers.dev/cloudgateway/openapisim/ecs"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/keys"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
	"alicloud-controllers.dev/cloudgateway/openapisim/location"
	"alicloud-controllers.dev/cloudgateway/openapisim/nlb"
	"alicloud-controllers.dev/cloudgateway/openapisim/quotas"
	"alicloud-controllers.dev/cloudgateway/openapisim/ram"
	"alicloud-controllers.dev/cloudgateway/openapisim/resourcemanager"
	"alicloud-controllers.dev/cloudgateway/openapisim/slb"
	"alicloud-controllers.dev/cloudgateway/openapisim/sts"
	"alicloud-controllers.dev/cloudgateway/openapisim/vpc"
)

// Products are the products of the OpenAPI, and the only list of them: a new one needs its package and a line here. What they do
// needs a [Simulator]; their tables don't.
func Products() []api.Product { return products(nil, nil, nil) }

func products(
	sessions sts.Sessions, address func(c *api.Context, product string) string, limits func() limit.Table,
) []api.Product {
	return []api.Product{
		slb.Product(),
		vpc.Product(),
		ecs.Product(),
		sts.Product(sessions),
		nlb.Product(),
		location.Product(address),
		resourcemanager.Product(),
		cas.Product(),
		quotas.Product(limits),
		ram.Product(sessions),
		cs.Product(),
	}
}

// Endpoint is a port of a simulator.
type Endpoint struct {
	Name  string // as [Simulator.Start] takes it
	About string // what is there
	// Scheme is that of URLs; empty: http.
	Scheme string
}

// Endpoints are the ports of a simulator: those of the products and its own.
func Endpoints() []Endpoint {
	endpoints := []Endpoint{
		{Name: frontEndpoint, About: "everything, told apart by host name or version, with TLS and without"},
		{Name: tlsEndpoint, About: "everything, with TLS", Scheme: "https"},
		{Name: "admin", About: "the admin API, and for people the page /console"},
		{Name: "metadata", About: "the instance metadata service"},
	}
	for _, p := range Products() {
		endpoints = append(endpoints, Endpoint{Name: p.Name, About: "the OpenAPI of " + p.Code})
	}
	return endpoints
}

// settling is when a product has to be settled again.
type settling struct {
	api.Product
	next    time.Time // the end of its next transition, zero for none
	changed bool      // there may be others than that
}

// settleDue completes the transitions that have ended, of all products: a change of one is seen by the others.
func (s *Simulator) settleDue(c *api.Context) {
	for _, p := range s.products {
		switch {
		case p.Lazy && p.End != nil:
			p.End(c)
		case p.Lazy:
		case p.changed || !p.next.IsZero() && !c.Now.Before(p.next):
			p.settle(c)
			s.show(false)
		}
	}
}

// settleAll completes the transitions that have ended, for code that looks at the state directly. It reports whether there may have
// been any.
func (s *Simulator) settleAll(c *api.Context) (ended bool) {
	for _, p := range s.products {
		ended = ended || p.changed || !p.next.IsZero() && !c.Now.Before(p.next)
		p.settle(c)
	}
	return ended
}

func (p *settling) settle(c *api.Context) {
	if p.Settle != nil {
		p.next, p.changed = p.Settle(c), false
	}
}

// touched records that the state has changed behind the back of the products. The caller holds the lock.
func (s *Simulator) touched() {
	s.changes.Add(1)
	s.cloud.Recount()
	for _, p := range s.products {
		p.changed = true
	}
}

// location is the address of a product: the one it has in this process, or the one it has in the cloud.
func (s *Simulator) location(c *api.Context, product string) string {
	known := func(p *settling) bool { return p.Name == product && product != "location" }
	if !slices.ContainsFunc(s.products, known) || !slices.Contains(c.Regions, c.Get("Id")) {
		return ""
	}
	return cmp.Or(s.Endpoint(product), s.Endpoint(frontEndpoint), product+"."+c.Region+".aliyuncs.com")
}

// sessions lets STS look up and issue keys.
type sessions struct {
	store *keys.Store
	now   func() time.Time
	// account is the one whose roles are assumed.
	account string
	// roles are those that can be assumed; none: any.
	roles []string
}

func (s sessions) Exists(role string) bool {
	return len(s.roles) == 0 || slices.ContainsFunc(s.roles, func(known string) bool { return strings.EqualFold(known, role) })
}

func (s sessions) Now() time.Time { return s.now() }

func (s sessions) Session(accessKeyID string) (role, name string, ok bool) {
	key, found := s.store.Lookup(accessKeyID)
	if !found || key.Session == nil {
		return "", "", false
	}
	return key.Session.RoleName, key.Session.Name, true
}

func (s sessions) Issue(role, name string, life time.Duration) sts.Credentials {
	now := s.now()
	key := s.store.Issue(s.account, role, name, now, now.Add(life))
	return sts.Credentials{AccessKeyID: key.ID, AccessKeySecret: key.Secret, SecurityToken: key.Session.Token, Expiration: key.Session.Expires}
}
