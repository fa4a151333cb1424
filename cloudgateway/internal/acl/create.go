package acl

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// creation identifies a request to create a list. The cloud has no token for it.
type creation struct{ requestID, name string }

// Create makes a list with its entries. A repetition of a request that failed half-way goes on with the list of that.
func (c *Client) Create(ctx context.Context, r *slbv1.CreateAccessControlListRequest) (string, error) {
	// Of two creations of the same name at the same time, neither could tell whose a list is.
	unlock, err := cloud.Lock(ctx, c.locks, fmt.Sprintf("access control list %q", r.GetName()))
	if err != nil {
		return "", err
	}
	defer unlock()
	defer c.listings.Clear()
	key := creation{requestID: r.GetRequestId(), name: r.GetName()}
	list, err := c.recall(ctx, key, r)
	if err == nil && list == nil {
		list, err = c.create(ctx, key, r)
	}
	if err != nil {
		return "", err
	}
	id := list.GetAclId()
	c.ledger.Put(key, id, ledgerLife)
	missing := change{add, r.GetEntries()}.rest(list.GetEntries())
	if err := c.exclusively(ctx, id, func(ctx context.Context) error { return c.apply(ctx, id, []change{{add, missing}}) }); err != nil {
		return "", fmt.Errorf("add entries to the new access control list %s: %w", id, err)
	}
	c.ledger.Put(key, "", 0)
	return id, nil
}

// recall finds the list that an earlier attempt at the same request made; nil if there was none, or if it is gone again.
func (c *Client) recall(
	ctx context.Context, key creation, r *slbv1.CreateAccessControlListRequest,
) (*slbv1.AccessControlList, error) {
	id, seen := c.ledger.Get(key)
	switch {
	case !seen:
		return nil, nil //nolint:nilnil // Absence is an answer.
	case id == "":
		return c.twin(ctx, r)
	}
	list, err := c.describe(ctx, id)
	if rpcerr.ReasonOf(err) == rpcerr.AclNotFound {
		return nil, nil //nolint:nilnil // Absence is an answer.
	}
	return list, err
}

// create makes the list without entries, and looks it up if the answer is lost.
func (c *Client) create(
	ctx context.Context, key creation, r *slbv1.CreateAccessControlListRequest,
) (*slbv1.AccessControlList, error) {
	params := cloud.Tags(cloud.Params{"AclName": r.GetName()}.
		With("AddressIPVersion", versions()[r.GetIpVersion()]).
		With("ResourceGroupId", r.GetResourceGroupId()), r.GetTags())
	return cloud.Create(ctx, func(ctx context.Context) (*slbv1.AccessControlList, error) {
		var answer listAnswer
		if _, err := c.caller.Do(ctx, cloud.Write(openapi.SLB, "CreateAccessControlList", params), &answer); err != nil {
			return nil, err
		}
		return answer.decode(), nil
	}, func(ctx context.Context) (*slbv1.AccessControlList, error) {
		c.ledger.Put(key, "", ledgerLife)
		return c.twin(ctx, r)
	})
}

// twin looks for the list that a request whose answer was lost may have made: the only one of its name, family, group and tags that
// has no entries. Nil means that the request was not carried out; an error, that nobody can tell.
func (c *Client) twin(ctx context.Context, r *slbv1.CreateAccessControlListRequest) (*slbv1.AccessControlList, error) {
	unknown := func(format string, args ...any) error {
		return &rpcerr.Error{
			Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, API: "slb/CreateAccessControlList",
			Message: fmt.Sprintf("the answer to the creation of access control list %q was lost: ", r.GetName()) + fmt.Sprintf(format, args...),
		}
	}
	// No cache and no filter that may lag behind: what was made a moment ago has to be seen.
	named, err := c.describeAll(ctx, cloud.Params{"AclName": r.GetName()})
	if err != nil {
		return nil, unknown("reading the lists back failed: %v", err)
	}
	var twins []*slbv1.AccessControlList
	for _, n := range named {
		if !fits(n, r) {
			continue
		}
		list, err := c.describe(ctx, n.GetAclId())
		switch {
		case rpcerr.ReasonOf(err) == rpcerr.AclNotFound:
		case err != nil:
			return nil, unknown("reading list %s back failed: %v", n.GetAclId(), err)
		case len(list.GetEntries()) == 0:
			twins = append(twins, list)
		}
	}
	switch len(twins) {
	case 0:
		return nil, nil //nolint:nilnil // Absence is an answer.
	case 1:
		return twins[0], nil
	}
	return nil, unknown("there are %d empty lists of that name, family and tags", len(twins))
}

// fits tells whether a list is as the request wants it, entries aside.
func fits(list *slbv1.AccessControlList, r *slbv1.CreateAccessControlListRequest) bool {
	six := slbv1.IpVersion_IP_VERSION_IPV6
	return list.GetName() == r.GetName() && (list.GetIpVersion() == six) == (r.GetIpVersion() == six) &&
		(r.GetResourceGroupId() == "" || list.GetResourceGroupId() == r.GetResourceGroupId()) && cloud.HasTags(list.GetTags(), r.GetTags())
}
