package controller

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
)

// remember keeps what is there now, and when to read it again.
func (e *ensuring) remember(ctx context.Context, observed model.Observed, complete bool) {
	if e.entry.Hash = e.hash; !complete {
		e.entry.Hash = ""
	}
	if e.built.EIP && e.entry.EIPs == nil {
		e.entry.EIPs = e.eips(ctx, observed.InstanceID)
	}
	if !e.built.EIP {
		e.entry.EIPs = nil
	}
	e.keep(observed, observed.ConfigKnown)
}

// keep remembers the servers, and the rest as it is. What is there was read completely, or in parts.
func (e *ensuring) keep(observed model.Observed, completely bool) {
	e.entry.UID, e.entry.Observed = string(e.svc.UID), observed
	if e.entry.VerifyAt.IsZero() {
		e.entry.VerifyAt = time.Now().Add(e.nextCheck(completely))
	}
	e.memory.Put(keyOf(e.svc), e.entry)
	e.runner.AddAfter(keyOf(e.svc), reconcile.Periodic, time.Until(e.entry.VerifyAt))
}

// retryRefused is about when something is looked at again that only a user can mend, maybe in the cloud, of which nobody tells.
const retryRefused = 30 * time.Minute

// nextCheck spreads the drift checks: the share of the interval is the Service's own. What was read completely waits for at
// least three quarters of it; what was not may come at any time within.
func (e *ensuring) nextCheck(complete bool) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(e.svc.UID)) // A hash never fails to write.
	share := float64(h.Sum32()) / float64(1<<32)
	if complete {
		share = 0.75 + share/2
	}
	interval := e.DriftCheck
	if e.desired.Reuse.ID != "" && (e.entry.Hash == "" || e.entry.Refused != "") {
		interval = min(interval, retryRefused)
	}
	return time.Duration(share * float64(interval))
}

// publish writes labels and status. The hash appears only when everything asked for is in place.
func (e *ensuring) publish(ctx context.Context, observed model.Observed, complete bool) error {
	n := notes{
		labels:      map[string]string{LabelLoadBalancerID: observed.InstanceID, LabelHash: e.hash},
		annotations: ownTags(e.desired.Instance.Tags),
	}
	n.annotations[annotation.Claims] = e.kept(observed).String()
	if !complete {
		n.labels[LabelHash] = ""
	}
	if err := e.patcher.finish(ctx, e.svc, n, e.ingress(observed)); err != nil {
		e.announce.fail(e.svc, reasonUpdateStatus, err)
		return err
	}
	return nil
}

// ownTags is the note of the tags that are the Service's, as a set.
func ownTags(keys []string) map[string]string {
	keys = slices.Sorted(slices.Values(keys))
	return map[string]string{annotation.OwnTags: strings.Join(slices.Compact(keys), ",")}
}

// ingress is what the status shows: the asked host name, else the EIPs, else the address of the CLB.
func (e *ensuring) ingress(observed model.Observed) []corev1.LoadBalancerIngress {
	if e.built.Hostname != "" {
		return []corev1.LoadBalancerIngress{{Hostname: e.built.Hostname}}
	}
	if !observed.ConfigKnown {
		return e.svc.Status.LoadBalancer.Ingress
	}
	if len(e.entry.EIPs) == 0 {
		return []corev1.LoadBalancerIngress{{IP: observed.Instance.GetAddress()}}
	}
	var ingress []corev1.LoadBalancerIngress
	for _, ip := range e.entry.EIPs {
		ingress = append(ingress, corev1.LoadBalancerIngress{IP: ip})
	}
	return ingress
}

// report tells the user the outcome, each part only when it changes.
func (e *ensuring) report(observed model.Observed, unresolved []string, changed, complete bool) {
	tell := func(eventType, reason, format string, args ...any) {
		e.announce.tell(e.svc, eventType, reason, format, args...)
	}
	e.announce.settle(e.svc, reasonAddFinalizer, reasonRemoveHash, reasonUpdateStatus)
	if complete {
		e.announce.settle(e.svc, reasonSyncFailed)
	}
	if changed {
		e.announce.settle(e.svc, reasonEnsured)
		tell(corev1.EventTypeNormal, reasonEnsured, "CLB %s is as the Service asks", observed.InstanceID)
	}
	var empty []string
	for _, g := range e.desired.Groups {
		if len(g.Servers) == 0 {
			empty = append(empty, g.Name)
		}
	}
	if len(empty) > 0 {
		tell(corev1.EventTypeNormal, reasonNoBackends, "CLB %s has no backends for %s: no ready node or pod qualifies", observed.InstanceID, strings.Join(empty, ", "))
	} else {
		e.announce.settle(e.svc, reasonNoBackends)
	}
	warnings := e.built.Warnings
	if len(unresolved) > 0 {
		shown := slices.Clone(unresolved[:min(len(unresolved), 5)])
		warnings = append(warnings, fmt.Sprintf("%d pods are left out because no network interface has their address: %s", len(unresolved), strings.Join(shown, ", ")))
	}
	if len(warnings) > 0 {
		tell(corev1.EventTypeWarning, reasonSkipBackends, "%s", strings.Join(warnings, "; "))
	} else {
		e.announce.settle(e.svc, reasonSkipBackends)
	}
	if annotation.Preserved(e.svc.Annotations) {
		tell(corev1.EventTypeWarning, reasonPreserved, "CLB %s will be kept when the Service goes (annotation %s%s)", observed.InstanceID, annotation.Prefix, annotation.PreserveOnDelete)
	}
}

// eips reads the EIPs bound to the instance. Without an answer the instance's own address is published.
func (e *ensuring) eips(ctx context.Context, id string) []string {
	answer, err := e.Gateway.Networks.ListEips(ctx, &vpcv1.ListEipsRequest{AssociatedInstanceType: "SlbInstance", AssociatedInstanceId: id})
	if err == nil && len(answer.GetEips()) == 0 {
		err = fmt.Errorf("no EIP is bound to CLB %s", id)
	}
	if err != nil {
		e.announce.fail(e.svc, reasonEIP, fmt.Errorf("the address of the CLB is published instead of an EIP: %w", err))
		return nil
	}
	var ips []string
	for _, eip := range answer.GetEips() {
		ips = append(ips, eip.GetIpAddress())
	}
	e.announce.settle(e.svc, reasonEIP)
	return ips
}
