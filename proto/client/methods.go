package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"alicloud-controllers.dev/proto/method"
)

// deadlines are the longest that calls take, by the full name of the method.
func deadlines(all []method.Method) map[string]time.Duration {
	byName := make(map[string]time.Duration, len(all))
	for _, m := range all {
		byName[m.FullName()] = m.Timeout()
	}
	return byName
}

// withDeadline gives calls without a deadline the one of their method.
func withDeadline(deadlines map[string]time.Duration) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, name string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		if deadline, known := deadlines[name]; known {
			if _, has := ctx.Deadline(); !has {
				bounded, cancel := context.WithTimeout(ctx, deadline)
				defer cancel()
				ctx = bounded
			}
		}
		return invoke(ctx, name, req, reply, cc, opts...)
	}
}

// serviceConfig is gRPC's: calls go to the address that says SERVING, which is the active replica, if that is wanted, and reads, only
// reads, are repeated when a connection breaks.
func serviceConfig(all []method.Method, active bool) (string, error) {
	type name struct {
		Service string `json:"service"`
		Method  string `json:"method"`
	}
	var reads []name
	for _, m := range all {
		if m.Reads() {
			reads = append(reads, name{Service: string(m.Descriptor.Parent().FullName()), Method: m.Name})
		}
	}
	type object = map[string]any
	sc := object{
		"loadBalancingConfig": []object{{"round_robin": object{}}},
		"methodConfig": []object{{
			"name": reads,
			"retryPolicy": object{
				"maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
				"retryableStatusCodes": []string{"UNAVAILABLE"},
			},
		}},
		"retryThrottling": object{"maxTokens": 10, "tokenRatio": 0.1},
	}
	if active {
		sc["healthCheckConfig"] = object{"serviceName": ""}
	}
	text, err := json.Marshal(sc)
	if err != nil {
		return "", fmt.Errorf("write the service config: %w", err)
	}
	return string(text), nil
}
