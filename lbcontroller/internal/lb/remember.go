package lb

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// firstRetry is about when something is looked at again that may be made while the Service waits for it. The time grows
// by as much as has passed.
const firstRetry = time.Minute

// nextCheck spreads the drift checks: the share of the interval is the Service's own. What was read completely waits for at
// least three quarters of it; what was not may come at any time within.
func nextCheck(s pass, e knowledge.Entry, complete bool) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(s.svc.UID)) // A hash never fails to write.
	share := float64(h.Sum32()) / float64(1<<32)
	if complete {
		share = 0.75 + share/2
	}
	interval := s.driftCheck
	switch refused, is := e.Known.(knowledge.Refused); {
	case is && refused.Again > 0:
		interval = min(interval, max(firstRetry, min(time.Since(e.RefusedSince), refused.Again)))
	case is, (s.view.Reused() != "" || s.want.Desired != nil && s.want.Desired.Binding != nil) && e.Noted == "":
		interval = min(interval, retryRefused)
	}
	return time.Duration(share * float64(interval))
}

// keep remembers an entry, and when to read the cloud again. What is there was read completely, or in parts.
func keep(s pass, e knowledge.Entry, completely bool) knowledge.Entry {
	e.UID, e.Named = string(s.svc.UID), s.view.Reused()
	if e.VerifyAt.IsZero() {
		e.VerifyAt = time.Now().Add(nextCheck(s, e, completely))
	}
	s.memory.Put(e, s.packer)
	return e
}

// keepRefused remembers a refusal, and when to look again: at no later time than for a Service that is refused for the first time.
func keepRefused(s pass, why *reuse.Refusal) knowledge.Entry {
	e := s.entry
	e.Known = knowledge.Refused{Refusal: why, For: s.said(), Meanwhile: knowledge.Meanwhile(e.Known)}
	if e.RefusedSince.IsZero() {
		e.RefusedSince = time.Now()
	}
	if next := time.Now().Add(nextCheck(s, e, true)); e.VerifyAt.IsZero() || next.Before(e.VerifyAt) {
		e.VerifyAt = next
	}
	return keep(s, e, true)
}

// rememberNone remembers that a new Service has no load balancer: a creation that is refused needs no search either
// when the Service changes.
func rememberNone(s pass, d decision) {
	if s.fresh && d.there().InstanceID == "" {
		e := knowledge.Renew(s.entry)
		e.UID, e.Known = string(s.svc.UID), knowledge.Absent{Certain: true}
		s.memory.Put(e, s.packer)
	}
}

// toRecord is what is recorded of a pass that went well: a digest, if nothing is left to do.
func toRecord(s pass, d decision) string {
	// Servers that go without a change of what the Service asks for.
	transient := func(g model.Group) bool { return len(g.Draining) > 0 || g.KeepLast && len(g.Servers) == 0 }
	// Another Service may fill a group that isn't the Service's own, too, and take out what is there for both: the next leader reads it.
	shared := func(g model.Group) bool { return g.ID != "" }
	groups := s.want.Desired.Groups
	switch {
	case d.begun: // Servers are missing. If this leader dies once that is written, the next one must not take the Service for an idle one.
		return knowledge.Outdated
	case !d.complete(), len(s.memory.starting.keys) > 0, len(s.pods.Missing)+len(s.pods.Pending) > 0, slices.ContainsFunc(groups, transient),
		slices.ContainsFunc(groups, shared):
		return ""
	}
	return s.applied
}

// appliedDigest is what is recorded of what a Service asks for. Network interfaces of pods aren't part of it: they would have to be read.
func appliedDigest(s pass) string {
	var text []byte
	text = appendText(appendText(text, string(s.svc.UID)), s.hash)
	for _, groups := range [][]model.Group{s.want.Desired.Groups, s.want.OwnGroups} {
		for _, g := range groups {
			text = strconv.AppendBool(appendText(appendText(text, g.ID), g.Name), g.KeepWeights)
			text = binary.AppendUvarint(text, uint64(len(g.Servers)))
			if len(g.Servers) > 0 {
				sum := s.packer.Digest(g.Servers)
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
	return knowledge.Shorten(sum[:])
}

func appendText(line []byte, t string) []byte {
	return append(binary.AppendUvarint(line, uint64(len(t))), t...)
}
