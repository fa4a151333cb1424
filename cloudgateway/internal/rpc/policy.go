package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
)

// Policy says what a method needs and does. There is one row per method, and a method without one is refused.
type Policy struct {
	// Resource and Verb are what the caller has to be allowed, e.g. "loadbalancers" and "update".
	Resource, Verb string
	// Narrow is a smaller permission, which is enough for some requests; without a resource, there is none.
	Narrow Narrow
	// Priority is for the handler's flow control, which finds it with PolicyFrom; it means nothing here.
	Priority int
	// Timeout bounds the handler, also if the caller's own deadline is later or missing.
	Timeout time.Duration
	// Mutating methods leave a line in the audit log.
	Mutating bool
	// Off says why the method is not offered, and how it can be. Empty: it is.
	Off string
}

// Narrow is a permission to use the verb of a Policy on another resource, for requests that set none but the fields.
type Narrow struct {
	Resource string
	Fields   []string
}

// Policies are the rows by full method name, "/package.Service/Method".
type Policies map[string]Policy

// exempt reports whether a method needs neither row nor token: health checks reveal nothing that has to be protected.
func exempt(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }

// reflects reports whether a method describes the protocol. It has the row of Config.Reflection.
func reflects(method string) bool { return strings.HasPrefix(method, "/grpc.reflection.") }

// check compares the rows with what is registered and returns all differences in one error.
func (p Policies) check(services map[string]grpc.ServiceInfo) error {
	var errs []error
	registered := map[string]bool{}
	for name, info := range services {
		for _, m := range info.Methods {
			full := "/" + name + "/" + m.Name
			registered[full] = true
			row, ok := p[full]
			switch {
			case exempt(full) || reflects(full):
			case m.IsClientStream || m.IsServerStream:
				errs = append(errs, fmt.Errorf("%s: streams are not supported", full))
			case !ok:
				errs = append(errs, fmt.Errorf("%s: has no policy", full))
			case row.Resource == "" || row.Verb == "" || row.Timeout <= 0:
				errs = append(errs, fmt.Errorf("%s: its policy needs Resource, Verb and Timeout", full))
			}
		}
	}
	for full := range p {
		if !registered[full] {
			errs = append(errs, fmt.Errorf("%s: has a policy and no handler", full))
		}
	}
	return errors.Join(errs...)
}

type policyKey struct{}

// PolicyFrom gives the policy of the method being handled.
func PolicyFrom(ctx context.Context) (Policy, bool) {
	p, ok := ctx.Value(policyKey{}).(Policy)
	return p, ok
}
