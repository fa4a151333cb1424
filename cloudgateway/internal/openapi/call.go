package openapi

import (
	"fmt"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/catalogue"
	"alicloud-controllers.dev/services/rpcerr"
)

// Product is an OpenAPI product, by the name that metrics, budgets and error details use.
type Product string

// The products that the gateway calls.
const (
	SLB Product = "slb"
	VPC Product = "vpc"
	ECS Product = "ecs"
	STS Product = "sts"
)

// Call is one action of the cloud with its parameters, encoded as the OpenAPI wants them ("Tag.1.Key").
type Call struct {
	Product Product
	Action  string
	// Params leave out RegionId, which is the client's, and everything that belongs to the signature. Empty values are sent.
	Params map[string]string
	// Form are further parameters. They travel in the body: what is long or secret has no place in a URL, which servers cut and
	// proxies log.
	Form map[string]string
	// Unsigned calls have the proof of who calls in Form.
	Unsigned bool
	// Mutating makes a lost answer an unknown outcome.
	Mutating bool
	// Idempotent calls may be repeated after an unclear outcome: they carry a ClientToken, or doing them twice is the same as once.
	// Calls that are not Mutating always are.
	Idempotent bool
}

// api names the action in errors and metrics.
func (c Call) api() string { return string(c.Product) + "/" + c.Action }

// repeatable reports whether the call may be sent again although an earlier attempt may have been executed.
func (c Call) repeatable() bool { return !c.Mutating || c.Idempotent }

// Result is what every answer carries.
type Result struct {
	// RequestID is what Alibaba's support asks for.
	RequestID string
	// Sent is when the last attempt was sent, which is after its wait for the budget; zero if none was.
	Sent time.Time
}

// ItemError makes the error of one item of a batch, which the cloud reports inside a successful answer.
func ItemError(product Product, action, code, message, requestID string) *rpcerr.Error {
	return catalogue.Error(catalogue.Answer{
		Product: string(product), Action: action, Code: code, Message: message, RequestID: requestID,
	})
}

// service is what a product is called on the wire.
type service struct {
	code    string // in the SDK
	version string
	prefix  string // of the host name
}

func (p Product) service() (service, error) {
	switch p {
	case SLB:
		return service{code: "Slb", version: "2014-05-15", prefix: "slb"}, nil
	case VPC:
		return service{code: "Vpc", version: "2016-04-28", prefix: "vpc"}, nil
	case ECS:
		return service{code: "Ecs", version: "2014-05-26", prefix: "ecs"}, nil
	case STS:
		return service{code: "Sts", version: "2015-04-01", prefix: "sts"}, nil
	default:
		return service{}, fmt.Errorf("unknown product %q", p)
	}
}
