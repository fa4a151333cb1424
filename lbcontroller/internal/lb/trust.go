package lb

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/record"
)

// meet looks up what the record says of a Service that this leader meets for the first time: what it learns afterwards counts more. If the cloud
// is recorded to have exactly what the Service asks for, the entry is trusted, and the CLB is read when its turn comes and not at once.
func (k *Kind) meet(ctx context.Context, s subject) subject {
	first, verifies := k.memory.Meet(s.key, string(s.svc.UID)), reconcile.PriorityOf(ctx) == reconcile.Periodic
	switch {
	case !s.served() || s.entry.Doubted():
	case s.state == memory.Due:
		s.idle = verifies
	case first && s.state == memory.Unknown:
		recorded := k.Records.Get(ctx, s.key)
		s.idle = verifies && (recorded == "" || !s.configured()) && !isNew(s.svc)
		if s.configured() && recorded != "" && recorded == s.applied && !s.want.EIP { // Which EIPs are bound isn't recorded.
			s.entry, s.state = k.keep(s, memory.Entry{Trusted: s.applied, Hash: s.hash}, false), memory.Known
		}
	}
	return s
}

// newFor is how long a Service with an address counts as new at a change of leaders: some time longer than that takes.
const newFor = 10 * time.Minute

// isNew reports whether a Service has got its address so lately that the leader of before may have died before it recorded that, and before the
// Service had all its servers.
func isNew(svc *corev1.Service) bool {
	return slices.ContainsFunc(svc.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == controller.ConditionReady && c.Status == metav1.ConditionTrue && time.Since(c.LastTransitionTime.Time) < newFor
	})
}

// isTrusted reports whether nothing need be done because the cloud is recorded to have what the Service asks for. Pods that wait for the CLB
// must know what it has now.
func (s subject) isTrusted() bool {
	return len(s.gated.Waiting()) == 0 && s.state == memory.Known && s.entry.Trusted != "" && s.entry.Trusted == s.applied && s.configured()
}

// unhurried is the context of the reads of an idle Service: they have the lowest priority, and give way to a change of the Service, or of another one
// that shares its CLB. The function ends it.
func (s subject) unhurried(ctx context.Context) (context.Context, func()) {
	if s.idle {
		return reconcile.Yielding(gateway.WithPriority(ctx, gateway.Background))
	}
	return ctx, func() {}
}

// yielded is the outcome of a pass that gave way.
func yielded(ctx context.Context) (controller.Outcome, bool) {
	err := context.Cause(ctx)
	return controller.Outcome{Err: err}, errors.Is(err, reconcile.ErrYielded)
}

// note records what a pass has brought about, if nothing of it is left to do.
func (k *Kind) note(s subject, d decision) {
	digest := ""
	if d.begun { // Servers are missing. If this leader dies once that is written, the next one must not take the Service for an idle one.
		digest = record.Outdated
	} else if d.complete() && len(s.pods.Missing)+len(s.pods.Pending) == 0 && !s.isTransient() && !s.fillsOthers() {
		digest = s.applied
	}
	k.Records.Set(s.key, digest)
}

// fillsOthers reports that servers are in groups which aren't the Service's own. Another Service may fill these, too, and take out what is there for
// both: the next leader reads them.
func (s subject) fillsOthers() bool {
	return slices.ContainsFunc(s.want.Desired.Groups, func(g model.Group) bool { return g.ID != "" })
}

// isTransient reports that servers are there which go without a change of what the Service asks for.
func (s subject) isTransient() bool {
	return slices.ContainsFunc(s.want.Desired.Groups, func(g model.Group) bool {
		return len(g.Draining) > 0 || g.KeepLast && len(g.Servers) == 0
	})
}

// appliedDigest is what is recorded of what a Service asks for. Network interfaces of pods aren't part of it: they would have to be read.
func (k *Kind) appliedDigest(s subject) string {
	var text []byte
	text = appendText(appendText(text, string(s.svc.UID)), s.hash)
	for _, groups := range [][]model.Group{s.want.Desired.Groups, s.want.OwnGroups} {
		for _, g := range groups {
			text = strconv.AppendBool(appendText(appendText(text, g.ID), g.Name), g.KeepWeights)
			text = binary.AppendUvarint(text, uint64(len(g.Servers)))
			if len(g.Servers) > 0 {
				sum := k.memory.Digest(g.Servers)
				text = append(binary.AppendVarint(appendText(text, g.Servers[0].Description), int64(g.Servers[0].Port)), sum[:]...)
			}
			for _, key := range slices.SortedFunc(maps.Keys(g.Staying), func(a, b model.ServerKey) int {
				return model.Server{ServerKey: a}.Compare(model.Server{ServerKey: b})
			}) {
				text = binary.AppendVarint(appendText(appendText(text, key.ID), key.IP), int64(key.Port))
			}
		}
	}
	sum := sha256.Sum256(text)
	return record.Shorten(sum[:])
}

func appendText(line []byte, t string) []byte {
	return append(binary.AppendUvarint(line, uint64(len(t))), t...)
}
