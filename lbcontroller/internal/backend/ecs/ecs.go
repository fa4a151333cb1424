// Package ecs finds out which nodes the cloud doesn't know, so that one of them doesn't keep the others from taking traffic.
package ecs

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/gateway"
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

// oneCall is how many instances one question may be about.
const oneCall = 100

// Learn finds out which instances are gone after the cloud has refused some of them as servers. Others are what else
// the Service has for servers: an answer without those proves nothing.
func (c *Checker) Learn(ctx context.Context, ids, others []string) error {
	for part := range slices.Chunk(ids, oneCall) {
		request := &ecsv1.ConfirmAbsentRequest{InstanceIds: part, WitnessIds: others[:min(len(others), oneCall)]}
		answer, err := c.Client.Instances.ConfirmAbsent(ctx, request)
		if err != nil {
			return fmt.Errorf("look for the instances that were refused as servers: %w", err)
		}
		if len(answer.GetResults()) != len(part) {
			return fmt.Errorf("look for %d instances: got %d results", len(part), len(answer.GetResults()))
		}
		c.note(part, answer.GetResults())
	}
	return nil
}

func (c *Checker) note(ids []string, results []*ecsv1.ConfirmAbsentResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unknown == nil {
		c.unknown = map[string]time.Time{}
	}
	for i, result := range results {
		if result.GetPresence() == ecsv1.Presence_PRESENCE_ABSENT {
			c.unknown[ids[i]] = time.Now().Add(keepFor)
		}
	}
}
