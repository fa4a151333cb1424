// Package ecs is what the resources of the cloud's Ecs product share.
package ecs

import (
	"cmp"
	"strconv"
	"time"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

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
	// ObserveInterface is called with every network interface that is read by its id or in a list; nil: nobody looks.
	ObserveInterface func(*ecsv1.NetworkInterface)
}

// API makes the calls of the product.
func (cfg Config) API() cloud.API { return cloud.API{Product: openapi.ECS, Caller: cfg.Caller} }

// Gathering is how reads of single items wait for others: a cluster's nodes are read one by one, at about the same time.
func (cfg Config) Gathering() cloud.Gathering {
	return cloud.Gathering{Idle: cmp.Or(cfg.Idle, 20*time.Millisecond), Max: cmp.Or(cfg.Max, time.Second)}
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
