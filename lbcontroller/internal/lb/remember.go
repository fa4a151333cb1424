package lb

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// memo is what is remembered after a pass, and the events that follow from it.
type memo struct {
	entry  memory.Entry
	events []controller.Event
	quiet  []string
	// eipUnknown reports that the EIPs could not be read.
	eipUnknown bool
}

// eipFor is how long the EIPs of a CLB are believed: one that is taken off may be another's soon, who then gets the traffic. eipAge is how old a list
// of them may be that serves all Services.
const eipFor, eipAge = 5 * time.Minute, time.Minute

// remember keeps what is there now, and when to read it again.
func (k *Kind) remember(ctx context.Context, s subject, d decision, result done) memo {
	noted := s.hash
	if !d.complete() {
		noted = ""
	}
	m := memo{entry: d.entry.Holds(result.observed, noted)}
	switch {
	case !s.want.EIP:
		m.entry.EIPs = nil
		m.quiet = append(m.quiet, controller.ReasonEIP)
	case m.entry.EIPs == nil || !time.Now().Before(m.entry.EIPsUntil):
		maxAge := time.Duration(0)
		if m.entry.EIPs != nil {
			maxAge = eipAge
		}
		ips, err := k.Product.EIPs(ctx, result.observed.InstanceID, maxAge)
		switch {
		case err != nil:
			m.eipUnknown = true
			m.events = append(m.events, controller.Failure(controller.ReasonEIP, fmt.Errorf("what is published stays until the EIP can be read: %w", err)))
		case len(ips) == 0:
			m.events = append(m.events, controller.Warningf(controller.ReasonEIP, "no EIP is bound to CLB %s, and its own address is published instead; "+
				"bind an EIP, or remove annotation %s%s", result.observed.InstanceID, annotation.Prefix, annotation.ExternalIPType))
		default:
			m.quiet = append(m.quiet, controller.ReasonEIP)
		}
		if err == nil {
			m.entry.EIPs, m.entry.EIPsUntil = ips, time.Now().Add(eipFor)
		}
	}
	m.entry = k.keep(s, m.entry, result.observed.ConfigKnown)
	if !m.eipUnknown {
		k.note(s, d)
	}
	return m
}

// retryRefused is about when something is looked at again that only a user can correct. That may be in the cloud, which sends no notice of it.
const retryRefused = 30 * time.Minute

// firstRetry is about when something is looked at again that may be made while the Service waits for it. The time grows by as much as has passed.
const firstRetry = time.Minute

// nextCheck spreads the drift checks: the share of the interval is the Service's own. What was read completely waits for at
// least three quarters of it; what was not may come at any time within.
func (k *Kind) nextCheck(s subject, e memory.Entry, complete bool) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(s.svc.UID)) // A hash never fails to write.
	share := float64(h.Sum32()) / float64(1<<32)
	if complete {
		share = 0.75 + share/2
	}
	interval := k.DriftCheck
	switch {
	case e.Refused.Again > 0:
		interval = min(interval, max(firstRetry, min(time.Since(e.RefusedSince), e.Refused.Again)))
	case e.Refused.Text != "" || s.view.Reused() != "" && e.Hash == "":
		interval = min(interval, retryRefused)
	}
	return time.Duration(share * float64(interval))
}

// keep remembers an entry, and when to read the cloud again. What is there was read completely, or in parts.
func (k *Kind) keep(s subject, e memory.Entry, completely bool) memory.Entry {
	e.UID, e.Named = string(s.svc.UID), s.view.Reused()
	if e.VerifyAt.IsZero() {
		e.VerifyAt = time.Now().Add(k.nextCheck(s, e, completely))
	}
	k.memory.Put(s.key, e)
	return e
}

// keepRefused remembers a refusal, and when to look again: at no later time than for a Service that is refused for the first time.
func (k *Kind) keepRefused(s subject, why reuse.Refusal) memory.Entry {
	e := s.entry
	e.Trusted, e.Refused, e.RefusedFor = "", why, s.saying()
	if e.RefusedSince.IsZero() {
		e.RefusedSince = time.Now()
	}
	if next := time.Now().Add(k.nextCheck(s, e, true)); e.VerifyAt.IsZero() || next.Before(e.VerifyAt) {
		e.VerifyAt = next
	}
	return k.keep(s, e, true)
}

// saying is all that a refusal of the CLB that the Service names depends on, except that CLB.
func (s subject) saying() string {
	said := []any{s.hash, s.want.EIP, s.svc.Labels[LabelLoadBalancerID], s.svc.Annotations[annotation.Claims]}
	for _, ingress := range s.svc.Status.LoadBalancer.Ingress {
		said = append(said, ingress.IP, ingress.Hostname)
	}
	return fmt.Sprintf("%q", said)
}
