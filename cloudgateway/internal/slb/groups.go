package slb

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

const (
	// ledgerLife is how long it is remembered that a creation was begun.
	ledgerLife = time.Hour
	// releaseLife is how long after a listener's change its old group may still be in use.
	releaseLife = time.Minute
	// settleTime is how long DeleteServerGroup waits for that to end.
	settleTime = 20 * time.Second
)

// GetServerGroup reads one group with its servers.
func (c *Client) GetServerGroup(ctx context.Context, id string, maxAge time.Duration) (*slbv1.ServerGroup, error) {
	return c.caches.groups.Get(ctx, id, maxAge, func(ctx context.Context) (*slbv1.ServerGroup, error) {
		return c.describeGroup(ctx, id)
	})
}

// describeGroup reads one group with its servers now.
func (c *Client) describeGroup(ctx context.Context, id string) (*slbv1.ServerGroup, error) {
	var answer struct {
		VServerGroupName string
		BackendServers   struct{ BackendServer []serverAnswer }
		Tags             cloud.TagList
	}
	if err := c.read(ctx, "DescribeVServerGroupAttribute", cloud.Params{"VServerGroupId": id}, &answer); err != nil {
		return nil, err
	}
	group := &slbv1.ServerGroup{ServerGroupId: id, Name: answer.VServerGroupName, ServersLoaded: true, Tags: answer.Tags.Decode()}
	for _, a := range answer.BackendServers.BackendServer {
		s, err := a.decode()
		if err != nil {
			return nil, fmt.Errorf("read vServer group %s: %w", id, err)
		}
		group.Servers = append(group.Servers, s)
	}
	group.ServerCount = int32(len(group.GetServers()))
	return group, nil
}

// ListServerGroups reads the groups of one instance without their servers, ordered by id.
func (c *Client) ListServerGroups(ctx context.Context, loadBalancerID string, maxAge time.Duration) ([]*slbv1.ServerGroup, error) {
	return c.caches.groupLists.Get(ctx, loadBalancerID, maxAge, func(ctx context.Context) ([]*slbv1.ServerGroup, error) {
		return c.describeGroups(ctx, loadBalancerID)
	})
}

func (c *Client) describeGroups(ctx context.Context, loadBalancerID string) ([]*slbv1.ServerGroup, error) {
	var answer struct {
		VServerGroups struct {
			VServerGroup []struct {
				VServerGroupID   string `json:"VServerGroupId"`
				VServerGroupName string
				ServerCount      json.RawMessage
				Tags             cloud.TagList
			}
		}
	}
	if err := c.read(ctx, "DescribeVServerGroups", cloud.Params{"LoadBalancerId": loadBalancerID}, &answer); err != nil {
		return nil, err
	}
	groups := make([]*slbv1.ServerGroup, 0, len(answer.VServerGroups.VServerGroup))
	for _, a := range answer.VServerGroups.VServerGroup {
		// The count is a courtesy: older answers lack it.
		count, _ := strconv.ParseInt(looseText(a.ServerCount), 10, 32)
		groups = append(groups, &slbv1.ServerGroup{
			ServerGroupId: a.VServerGroupID, Name: a.VServerGroupName, ServerCount: int32(count), Tags: a.Tags.Decode(),
		})
	}
	slices.SortFunc(groups, func(a, b *slbv1.ServerGroup) int {
		return strings.Compare(a.GetServerGroupId(), b.GetServerGroupId())
	})
	return groups, nil
}

// groupsWithServers reads the groups of one instance, and the servers of those that are selected by id or prefix of their
// name; of all if nothing is selected.
func (c *Client) groupsWithServers(
	ctx context.Context, loadBalancerID string, maxAge time.Duration, ids, prefixes []string,
) ([]*slbv1.ServerGroup, error) {
	listed, err := c.ListServerGroups(ctx, loadBalancerID, maxAge)
	if err != nil {
		return nil, err
	}
	groups := slices.Clone(listed)
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(parallelReads)
	for i, g := range groups {
		if !selected(g, ids, prefixes) {
			continue
		}
		reads.Go(func() error {
			full, err := c.GetServerGroup(ctx, g.GetServerGroupId(), maxAge)
			if err != nil {
				return err
			}
			groups[i] = full
			return nil
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	return groups, nil
}

func selected(g *slbv1.ServerGroup, ids, prefixes []string) bool {
	return len(ids)+len(prefixes) == 0 || slices.Contains(ids, g.GetServerGroupId()) ||
		slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(g.GetName(), prefix) })
}

// UpdateServerGroup changes the name, and then the tags.
func (c *Client) UpdateServerGroup(ctx context.Context, r *slbv1.UpdateServerGroupRequest) error {
	id := r.GetServerGroupId()
	defer c.caches.groups.Invalidate(id)
	return c.exclusively(ctx, r.GetLoadBalancerId(), func(ctx context.Context, w *writer) error {
		if r.Name != nil {
			err := w.set(ctx, "SetVServerGroupAttribute", cloud.Params{"VServerGroupId": id, "VServerGroupName": r.GetName()})
			if err != nil {
				return err
			}
		}
		for _, call := range cloud.TagCalls(openapi.SLB, "vservergroup", id, r.GetSetTags(), r.GetRemoveTagKeys()) {
			if err := cloud.Set(ctx, c.caller, call, nil); err != nil {
				return cloud.As(rpcerr.ServerGroupNotFound, err)
			}
		}
		return nil
	})
}

// DeleteServerGroup removes a group. A listener lets go of its group a while after it was deleted or pointed elsewhere, so
// "in use" is waited out if such a change was made a moment ago.
func (c *Client) DeleteServerGroup(ctx context.Context, loadBalancerID, id string) error {
	defer c.caches.groups.Invalidate(id)
	return c.exclusively(ctx, loadBalancerID, func(ctx context.Context, w *writer) error {
		again := cloud.Busy
		if _, released := c.releases.Get(loadBalancerID); released {
			bounded, cancel := context.WithTimeout(ctx, settleTime)
			defer cancel()
			ctx = bounded
			again = func(err error) bool {
				return cloud.Busy(err) || rpcerr.ReasonOf(err) == rpcerr.ServerGroupInUse
			}
		}
		err := cloud.Retry(ctx, again, func(ctx context.Context) error {
			return w.setOnce(ctx, "DeleteVServerGroup", cloud.Params{"VServerGroupId": id})
		})
		return cloud.Unless(cloud.Unless(err, rpcerr.ServerGroupNotFound), rpcerr.LoadBalancerNotFound)
	})
}
