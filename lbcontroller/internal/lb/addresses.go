package lb

import (
	"context"
	"fmt"
	"slices"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
)

// retryEIP is when EIPs that could not be read are read again.
const retryEIP = time.Minute

// eipFor is how long the EIPs of a load balancer are believed: one that is taken off may be another's soon, who then
// gets the traffic. eipAge is how old a list of them may be that serves all Services. Together they are less than a minute.
const eipFor, eipAge = 40 * time.Second, 15 * time.Second

// eipPause is how long after such a list has shown a change the load balancer is compared, once the change is published.
const eipPause = time.Second

// eips are the elastic addresses of a load balancer, as far as they are published.
type eips struct {
	addresses []string
	// trouble is what users should know about them; nil for nothing.
	trouble *controller.Event
	// unknown reports that they could not be read.
	unknown bool
}

// eips finds out which elastic addresses are published, and remembers them.
func (e *engine) eips(ctx context.Context, s pass, entry *knowledge.Entry, id string) eips {
	if !s.want.EIP {
		entry.EIPs = nil
		return eips{}
	}
	if entry.EIPs != nil && time.Now().Before(entry.EIPsUntil) {
		return eips{addresses: entry.EIPs}
	}
	maxAge := time.Duration(0)
	if entry.EIPs != nil {
		maxAge = eipAge
	}
	ips, err := e.Product.EIPs(ctx, id, maxAge)
	if err != nil {
		trouble := controller.Failure(controller.ReasonEIP, fmt.Errorf("what is published stays until the EIP can be read: %w", err))
		return eips{addresses: entry.EIPs, trouble: &trouble, unknown: true}
	}
	asked := s.want.Desired.EIP.IsAsked()
	if asked && entry.EIPs != nil && !slices.Equal(entry.EIPs, ips) {
		entry.VerifyAt = time.Now().Add(eipPause) // Somebody has bound another, or none.
	}
	entry.EIPs, entry.EIPsUntil = ips, time.Now().Add(eipFor)
	return eips{addresses: ips, trouble: warning(len(ips) == 0 && !asked, controller.ReasonEIP,
		"no EIP is bound to load balancer %s, and its own address is published instead; "+
			"bind an EIP, or remove annotation %s%s", id, annotation.Prefix, annotation.ExternalIPType)}
}
