// Package ecs is what the resources of the cloud's Ecs product share.
package ecs

import (
	"context"
	"strconv"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// ItemsPerCall is how many ids or addresses one call may name (ECS API reference).
const ItemsPerCall = 100

// Config holds what the resources work with.
type Config struct {
	cloud.Shared

	// Caller reaches the cloud.
	Caller cloud.Caller
	// Idle and Max shape the gathering of reads, see batch.Config.
	Idle, Max time.Duration
}

// API makes the calls of the product.
func (cfg Config) API() cloud.API { return cloud.API{Product: openapi.ECS, Caller: cfg.Caller} }

// NewReader makes a reader of single items. Reads that come at about the same time share calls of at most perCall items.
func NewReader[K comparable, V any](
	cfg Config, name string, perCall int, load func(context.Context, []K) (map[K]V, error), absent func(K) error,
) *batch.Reader[K, V] {
	return batch.New(batch.Config[K, V]{
		Name: name, Load: load, MaxItems: perCall, Idle: cfg.Idle, Max: cfg.Max, Absent: absent, Blames: cloud.BlamesItem,
		Room: cfg.Room, Registerer: cfg.Registerer, Logger: cfg.Logger,
	})
}

// Attributes is the call that sets attributes of a resource, if there are any. The key is the parameter with its id.
func Attributes(action, key, id string, params cloud.Params) []openapi.Call {
	if len(params) == 0 {
		return nil
	}
	return []openapi.Call{cloud.Write(openapi.ECS, action, params.With(key, id))}
}

// Boolean adds a parameter if it is present.
func Boolean(p cloud.Params, name string, value *bool) {
	if value != nil {
		p[name] = strconv.FormatBool(*value)
	}
}
