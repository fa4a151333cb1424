package openapisim

import (
	"cmp"
	"slices"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/ecs"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/keys"
	"alicloud-controllers.dev/cloudgateway/openapisim/location"
	"alicloud-controllers.dev/cloudgateway/openapisim/slb"
	"alicloud-controllers.dev/cloudgateway/openapisim/sts"
	"alicloud-controllers.dev/cloudgateway/openapisim/vpc"
)

// products are all products of the OpenAPI. NLB has no actions yet: its endpoint answers every call as the cloud answers
// an unknown action.
func (s *Simulator) products(cfg Config) []api.Product {
	return []api.Product{
		slb.Product(),
		vpc.Product(),
		ecs.Product(),
		sts.Product(sessions{store: s.keys, now: cfg.Now}),
		location.Product(s.location),
		{Name: "nlb", Code: "Nlb", Version: "2022-04-30"},
	}
}

// location is the address of a product: the one it has in this process, or the one it has in the cloud.
func (s *Simulator) location(c *api.Context, product string) string {
	if !slices.Contains([]string{"slb", "vpc", "ecs", "sts", "nlb"}, product) {
		return ""
	}
	return cmp.Or(s.Endpoint(product), product+"."+c.Region+".aliyuncs.com")
}

// sessions lets STS look up and issue keys.
type sessions struct {
	store *keys.Store
	now   func() time.Time
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
	key := s.store.Issue(role, name, now, now.Add(life))
	return sts.Credentials{AccessKeyID: key.ID, AccessKeySecret: key.Secret, SecurityToken: key.Session.Token, Expiration: key.Session.Expires}
}
