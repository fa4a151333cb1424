// Package ecs finds out which nodes the cloud doesn't know, so that one of them doesn't keep the others from taking traffic.
package ecs

import (
	"context"
	"fmt"
	"sync"
	"time"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/rpcerr"
)

// keepFor is how long an instance is taken for unknown before the cloud is asked again.
const keepFor = 10 * time.Minute

// Checker remembers instances that nodes name and that the cloud doesn't have, for all Services together.
type Checker struct {
	Client *gateway.Client

	mu      sync.Mutex
	unknown map[string]time.Time // until when
}

// Unknown returns the instances that the cloud doesn't have.
func (c *Checker) Unknown() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unknown) == 0 {
		return nil
	}
	unknown := make(map[string]bool, len(c.unknown))
	for id, until := range c.unknown {
		if time.Now().Before(until) {
			unknown[id] = true
		} else {
			delete(c.unknown, id)
		}
	}
	return unknown
}

// Learn asks the cloud for instances after it has refused some of them as servers.
func (c *Checker) Learn(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	answer, err := c.Client.Instances.BatchGetInstances(ctx, &ecsv1.BatchGetInstancesRequest{InstanceIds: ids})
	if err != nil {
		return fmt.Errorf("look for the instances that were refused as servers: %w", err)
	}
	if len(answer.GetResults()) != len(ids) {
		return fmt.Errorf("look for %d instances: got %d results", len(ids), len(answer.GetResults()))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unknown == nil {
		c.unknown = map[string]time.Time{}
	}
	for i, result := range answer.GetResults() {
		if rpcerr.ReasonOf(rpcerr.FromItem(result.GetError())) == rpcerr.InstanceNotFound {
			c.unknown[ids[i]] = time.Now().Add(keepFor)
		}
	}
	return nil
}
