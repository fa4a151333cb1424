package lb

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/blocked"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// Where the security groups of servers keep health checks out, all servers count as unhealthy, and nothing else says why. What is known of
// groups is shared by all Services, so they are looked at first; the health of servers is read only for a Service whose checks they drop,
// and both have to say so.
const (
	// blockedPause is how long after a change of the Service it is looked at: the checks have found something then.
	blockedPause = time.Minute
	// blockedAgain is how long after a look the next one is, and how old what is known of groups may be.
	blockedAgain = time.Hour
)

// blockedChecks are the health checks of a Service that security groups keep out, as far as is known.
type blockedChecks struct {
	// hash is that of the configuration that was looked at, and asked says whether the Service asked to let the checks in.
	hash  string
	asked bool
	// at is when it is looked at next.
	at time.Time
	// text names the missing rules; empty for none.
	text string
	// added names rules that were just added; empty for none.
	added string
}

// lookForBlocked finds out, when it is time, whether security groups keep health checks away from the servers of a Service.
func (e *engine) lookForBlocked(ctx context.Context, s pass, there model.Observed) {
	b, now, asked := &s.memory.blocked, time.Now(), annotation.HealthChecksAllowed(s.svc.Annotations)
	switch {
	case !e.SecurityGroups || there.InstanceID == "":
		return
	case b.hash != s.hash || b.asked != asked:
		b.hash, b.asked, b.at = s.hash, asked, now.Add(blockedPause)
		return
	case now.Before(b.at):
		return
	}
	b.at = now.Add(blockedAgain)
	ctx = gateway.WithPriority(ctx, gateway.Background)
	rules, groups, known, err := e.missingRules(ctx, s, there)
	switch {
	case err != nil:
		e.logger.Warn("whether security groups keep health checks out can't be read", "service", s.key, "error", err)
	case known:
		b.text, b.added = blocked.Text(rules), ""
		if len(rules) > 0 && e.HealthCheckRules && asked {
			e.letIn(ctx, s, rules, groups)
		}
	}
}

// letIn adds the rules that health checks of a Service lack, where the security groups are the cluster's, and looks again soon.
func (e *engine) letIn(ctx context.Context, s pass, rules []blocked.Rule, groups blocked.Groups) {
	b := &s.memory.blocked
	add, left := blocked.ToAdd(rules, groups, e.Desired.ClusterID)
	err := blocked.Add(ctx, e.Gateway, e.Desired.ClusterID, add)
	switch {
	case err != nil:
		b.text += fmt.Sprintf("; annotation %s%s asks to let them in, which failed: %v", annotation.Prefix, annotation.AllowHealthChecks, err)
	case len(left) > 0:
		b.text = blocked.Text(left) + fmt.Sprintf("; annotation %s%s adds a rule that isn't there to a group with the tag %s=%s only, which "+
			"neither a load balancer nor another product owns", annotation.Prefix, annotation.AllowHealthChecks, ownership.TagCluster,
			e.Desired.ClusterID)
	default:
		b.text = ""
	}
	if err == nil && len(add) > 0 {
		b.added, b.at = add.String(), time.Now().Add(blockedPause)
		e.logger.Info("adding rules to security groups for health checks", "service", s.key, "rules", b.added)
	}
}

// removeRules removes the rules for health checks that no Service needs any more, once in a while until ctx ends, if the policy of the
// configuration lets anything be deleted.
func (k *Kind) removeRules(ctx context.Context) error {
	e := k.engine
	if !e.HealthCheckRules || !e.Policy.deletes() || !e.Shared.removesRules.CompareAndSwap(false, true) {
		return nil
	}
	defer e.Shared.removesRules.Store(false)
	ctx = gateway.WithPriority(ctx, gateway.Background)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(blockedAgain):
		}
		removed, err := blocked.Remove(ctx, e.Gateway, e.Desired.ClusterID, func(ctx context.Context) ([]*corev1.Service, error) {
			return listServices(ctx, e.Orphans.Client)
		})
		for _, text := range removed {
			e.logger.Info("rules for health checks are removed, as no Service needs them", "rules", text)
			e.Orphans.Recorder.Event(controller.ClusterObject(), corev1.EventTypeNormal, controller.ReasonRules,
				"no Service needs these rules for health checks any more, which are removed: "+text)
		}
		if err != nil && ctx.Err() == nil {
			e.logger.Warn("rules for health checks that no Service needs can't be looked for or removed; it is tried again", "error", err)
		}
	}
}

// missingRules are the rules that security groups lack for health checks which fail. Known is false if none was found, and not all is known
// that would prove that there is none.
func (e *engine) missingRules(ctx context.Context, s pass, there model.Observed) (
	rules []blocked.Rule, groups blocked.Groups, known bool, err error) {
	checks := checksOf(e.Product, s.want.Desired)
	if len(checks) == 0 {
		return nil, nil, true, nil
	}
	sources, err := e.Product.CheckSources(ctx, there)
	if err != nil || len(sources) == 0 {
		return nil, nil, false, err
	}
	groups, err = e.Shared.groups.Read(ctx, checks, blockedAgain)
	if err != nil {
		return nil, nil, false, err
	}
	if rules = blocked.Missing(checks, groups, sources); len(rules) == 0 {
		return nil, groups, groups.Has(checks), nil
	}
	found, err := e.Product.Health(ctx, there)
	if err != nil {
		return nil, nil, false, fmt.Errorf("read the health of servers: %w", err)
	}
	statuses := map[model.ServerKey][]readiness.Health{}
	for key, all := range found {
		statuses[idAndPort(key)] = append(statuses[idAndPort(key)], all...)
	}
	return slices.DeleteFunc(rules, func(r blocked.Rule) bool { return !fails(r.Checks, statuses) }), groups, true, nil
}

// checksOf are the health checks by TCP that are made of the servers of a Service. Pure.
func checksOf(product Product, want *model.Desired) []blocked.Check {
	var checks []blocked.Check
	for _, l := range want.Listeners {
		i := slices.IndexFunc(want.Groups, func(g model.Group) bool { return g.Name == l.Group && l.Group != "" })
		if i < 0 {
			continue
		}
		port, isChecked := product.CheckedPort(l, want.Groups[i])
		if !isChecked {
			continue
		}
		for _, server := range want.Groups[i].Servers {
			check := blocked.Check{Server: server.ServerKey, Port: port}
			if port == 0 {
				check.Port = server.Port
			}
			checks = append(checks, check)
		}
	}
	return checks
}

// fails reports that some of these checks fail, and that none succeeds. Statuses are by the id and the port of servers. Pure.
func fails(checks []blocked.Check, statuses map[model.ServerKey][]readiness.Health) bool {
	isBad := false
	for _, check := range checks {
		switch readiness.Judge(statuses[idAndPort(check.Server)]) {
		case readiness.Good:
			return false
		case readiness.Bad:
			isBad = true
		case readiness.Unknown:
		}
	}
	return isBad
}

// idAndPort leaves out what the cloud may fill in or leave out.
func idAndPort(key model.ServerKey) model.ServerKey {
	return model.ServerKey{ID: key.ID, Port: key.Port}
}

// withBlocked adds to an outcome which health checks security groups keep out.
func (e *engine) withBlocked(o controller.Outcome, s pass, there model.Observed) controller.Outcome {
	b := s.memory.blocked
	if !e.SecurityGroups || b.at.IsZero() {
		return o
	}
	o.Looks = append(o.Looks, controller.Look{After: time.Until(b.at), Priority: reconcile.Periodic})
	if b.added != "" {
		o.Events = append(o.Events, controller.Normalf(controller.ReasonRules, "rules are added for the health checks of load balancer %s: %s",
			there.InstanceID, b.added))
		s.memory.blocked.added = ""
	}
	if b.text == "" {
		o.Resolved = append(o.Resolved, controller.ReasonBlocked)
		return o
	}
	o.Events = append(o.Events, controller.Warningf(controller.ReasonBlocked, "the health checks of load balancer %s fail: %s; let them in, "+
		"and if there is such a rule, let it go before the one that drops", there.InstanceID, b.text))
	return o
}
