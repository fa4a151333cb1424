package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
)

// Deadlines of calls whose context has none.
const (
	readDeadline  = 30 * time.Second
	writeDeadline = 60 * time.Second
	// routeDeadline is for what waits for its turn in a VPC, or until routes or instances are where they shall be.
	routeDeadline = 150 * time.Second
)

// method is what the client has to know about an RPC.
type method struct {
	read     bool
	deadline time.Duration
}

// methods lists the gateway's RPCs by full name. Which ones are reads is written in the protocol.
func methods() (map[string]method, error) {
	all := map[string]method{}
	for _, service := range serviceDescs() {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service.ServiceName))
		if err != nil {
			return nil, fmt.Errorf("look up %s: %w", service.ServiceName, err)
		}
		rpcs := found.(protoreflect.ServiceDescriptor).Methods() // The name is a service's.
		for i := range rpcs.Len() {
			rpc := rpcs.Get(i)
			m := method{deadline: writeDeadline}
			options, ok := rpc.Options().(*descriptorpb.MethodOptions)
			if ok && options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS {
				m = method{read: true, deadline: readDeadline}
			}
			all[fmt.Sprintf("/%s/%s", service.ServiceName, rpc.Name())] = m
		}
	}
	for _, name := range []string{
		vpcv1.RouteService_BatchCreateRouteEntries_FullMethodName, vpcv1.RouteService_BatchDeleteRouteEntries_FullMethodName,
		ecsv1.InstanceService_StartInstance_FullMethodName, ecsv1.InstanceService_StopInstance_FullMethodName,
		ecsv1.InstanceService_DeleteInstance_FullMethodName,
		vpcv1.RouteService_UpdateRouteEntry_FullMethodName, vpcv1.RouteService_CreateRouteTable_FullMethodName,
		vpcv1.RouteService_DeleteRouteTable_FullMethodName, vpcv1.RouteService_AssociateRouteTable_FullMethodName,
		vpcv1.RouteService_UnassociateRouteTable_FullMethodName,
		vpcv1.VSwitchService_CreateVSwitch_FullMethodName, vpcv1.VSwitchService_DeleteVSwitch_FullMethodName,
	} {
		all[name] = method{deadline: routeDeadline}
	}
	return all, nil
}

// withDeadline gives calls without a deadline the one of their method.
func withDeadline(all map[string]method) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, name string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		if m, known := all[name]; known {
			if _, has := ctx.Deadline(); !has {
				bounded, cancel := context.WithTimeout(ctx, m.deadline)
				defer cancel()
				ctx = bounded
			}
		}
		return invoke(ctx, name, req, reply, cc, opts...)
	}
}

// serviceConfig is gRPC's: calls go to the address that says SERVING, which is the active replica, and reads, only reads, are
// repeated when a connection breaks.
func serviceConfig(all map[string]method) (string, error) {
	type name struct {
		Service string `json:"service"`
		Method  string `json:"method"`
	}
	var reads []name
	for full, m := range all {
		if m.read {
			service, rpc := split(full)
			reads = append(reads, name{Service: service, Method: rpc})
		}
	}
	type object = map[string]any
	text, err := json.Marshal(object{
		"loadBalancingConfig": []object{{"round_robin": object{}}},
		"healthCheckConfig":   object{"serviceName": ""},
		"methodConfig": []object{{
			"name": reads,
			"retryPolicy": object{
				"maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
				"retryableStatusCodes": []string{"UNAVAILABLE"},
			},
		}},
		"retryThrottling": object{"maxTokens": 10, "tokenRatio": 0.1},
	})
	if err != nil {
		return "", fmt.Errorf("write the service config: %w", err)
	}
	return string(text), nil
}
