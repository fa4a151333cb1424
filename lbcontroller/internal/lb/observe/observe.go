// Package observe reads what the cloud holds for a Service. Every answer is complete or an error.
package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// View is how much of a load balancer is read.
type View int

// The views.
const (
	// Basic is the load balancer with its tags.
	Basic View = iota
	// Servers are the server groups that concern a Service, with their servers, and nothing else.
	Servers
	// Config is the load balancer with its listeners. Server groups are read only by a kind of which they take no calls of their own.
	Config
	// Full is the load balancer with its listeners and the server groups that concern a Service.
	Full
	// Whole is Full with all server groups.
	Whole
)

// Extent says what is read of a load balancer.
type Extent struct {
	View View
	// Mark is the default name of the Service for which it is read, if it is the Service's own: its server groups bear
	// that, whatever has become of its tags.
	Mark string
	// User says which parts of a user's load balancer are read; nil for a load balancer of the Service's own, where all server groups that may
	// be the Service's are read.
	User *Parts
	// Groups are the ids of server groups that are read with Config, too, if they bear Mark.
	Groups []string
	// Known are server groups as they are remembered. One of which the cloud lists as many servers has those: they take
	// a call to read. That another server is in the place of one isn't seen.
	Known []model.Group
}

// MakingError is the error of reading a load balancer that the cloud is still making. It can't be worked with yet.
type MakingError struct {
	ID  string
	Err *rpcerr.Error
}

// Error implements error.
func (e *MakingError) Error() string { return e.Err.Error() }

// Unwrap returns the error with the time to look again.
func (e *MakingError) Unwrap() error { return e.Err }

// Query finds load balancers by a tag with its value, or by name.
type Query struct{ Tag, Value, Name string }

// Mark is what the things bear that were made for a Service: its default name, and the cluster.
type Mark struct{ DefaultName, ClusterID string }

// On reports whether tags are those of a thing that was made for the Service. A filter of the cloud is no proof of that: it takes
// an empty value for any.
func (m Mark) On(tags []*commonv1.Tag) bool {
	has := func(key, value string) bool {
		return value != "" && slices.ContainsFunc(tags, func(t *commonv1.Tag) bool { return t.GetKey() == key && t.GetValue() == value })
	}
	return has(ownership.TagService, m.DefaultName) && has(ownership.TagCluster, m.ClusterID)
}

// Made reports whether a thing that stands beside a load balancer was made for the Service: by its tags, which a
// clone bears, too, and by its name, which begins with the prefix.
func (m Mark) Made(prefix, name string, tags []*commonv1.Tag) bool {
	return name == prefix+m.DefaultName && m.On(tags)
}

// MarkOf is the default name of the Service of a cluster for which a thing with these tags was made; empty if it was made for none.
func MarkOf(tags []*commonv1.Tag, clusterID string) string {
	for _, t := range tags {
		if t.GetKey() == ownership.TagService && (Mark{DefaultName: t.GetValue(), ClusterID: clusterID}).On(tags) {
			return t.GetValue()
		}
	}
	return ""
}

// Reader reads load balancers of a kind. An answer is complete or an error.
type Reader interface {
	// Read reads so much of a load balancer. A server group whose servers weren't read is no part of the answer's groups, but of OtherGroups.
	Read(ctx context.Context, id string, e Extent) (model.Observed, error)
	// Complete reads what it takes beside Read to compare what is there with what is wanted.
	Complete(ctx context.Context, found *model.Observed, want *model.Desired) error
	// Lists reads the access lists that were made for a Service, ordered by id; they bear its marks and its name.
	Lists(ctx context.Context, mark Mark) ([]model.AccessList, error)
	// Beside are the kinds of things that may stand beside a load balancer, or, where there is none, beside any of this
	// kind. Pure.
	Beside(there model.Observed) []model.ThingKind
	// Things lists the things of a kind that were made for Services of a cluster, by both tags and by their names, as
	// they were not longer ago than maxAge; 0 for now. They are ordered by id.
	Things(ctx context.Context, kind model.ThingKind, clusterID string, maxAge time.Duration) ([]model.Thing, error)
	// Search lists load balancers, each as with Basic.
	Search(ctx context.Context, q Query) ([]model.Observed, error)
}

// BoundReader reads what is bound, for a kind that binds things to load balancers of Services' own.
type BoundReader interface {
	// FindBound reads the things that a Service names or may have bound, those that were made for it, and, if it asks for
	// one, what is bound to its load balancer, if it has one. They are ordered by id.
	FindBound(ctx context.Context, mark Mark, loadBalancer string, b *model.Binding) ([]model.Bound, error)
}

// Observer looks for the load balancers of Services.
type Observer struct {
	Reader

	// GroupsApart says that server groups may be there without a load balancer. They are read by an empty id then.
	GroupsApart bool
}

// Hint is what is known about the instance of a Service.
type Hint struct {
	// RecordedID is the id written on the Service. Labels can be copied, so the instance must prove to be ours.
	RecordedID string
	// Addresses are the published ones, which only the API server's status can hold.
	Addresses []string
	// DefaultName is the name and tag that a creation gives.
	DefaultName string
	// ClusterID is in another tag that a creation gives.
	ClusterID string
	// Users are the ids of instances that the Service takes for a user's. Only the tag of a creation proves such a one to be ours.
	Users []string
	// Known are server groups as they are remembered; see Extent.
	Known []model.Group
}

// extent is what is read of an instance that may be the Service's own.
func (h Hint) extent(view View) Extent {
	return Extent{View: view, Mark: h.DefaultName, Known: h.Known}
}

// owns reports whether an instance was created for the Service: by its tag, or, if that was removed, by another mark together
// with the published address. The address alone proves nothing: a Service of the existing CCM may publish that of a user's instance.
func (h Hint) owns(found model.Observed) bool {
	tags := found.Tags()
	if h.belongsElsewhere(tags) {
		return false
	}
	if _, ok := tags[ownership.TagService]; ok {
		return true
	}
	return h.publishes(found) && (found.Name() == h.DefaultName || tags[ownership.TagCluster] != "")
}

// belongsElsewhere reports whether a user made an instance, or another Service or cluster has it: a cluster that was restored from this
// one's backup has Services with the same UIDs. Instances of old versions of the existing CCM name no cluster.
func (h Hint) belongsElsewhere(tags map[string]string) bool {
	_, reused := tags[ownership.TagReused]
	cluster, named := tags[ownership.TagCluster]
	service, made := tags[ownership.TagService]
	return reused || named && cluster != h.ClusterID || made && service != h.DefaultName
}

// takesForUsers reports whether a user has made an instance his own, say by taking our tags off: it may still bear the default name.
func (h Hint) takesForUsers(found model.Observed) bool {
	return slices.Contains(h.Users, found.InstanceID) && found.Tags()[ownership.TagService] != h.DefaultName
}

func (h Hint) publishes(found model.Observed) bool {
	return slices.Contains(h.Addresses, found.Address())
}

// Parts are the server groups on a user's instance that concern a Service.
type Parts struct {
	// Mark is the value of the tag that server groups bear which stand by themselves; empty for none of these.
	Mark string
	// Owner has those that bear its name.
	Owner ownership.Owner
	// Names are the names that are expected among these: they save calls.
	Names []string
	// IDs are those that are or were filled, but are not the Service's own.
	IDs []string
}

// Find looks for the instance of a Service: by the recorded id, by tag, by name. The result has no instance if there is none.
func (o Observer) Find(ctx context.Context, hint Hint, view View) (model.Observed, error) {
	isGone := false
	if hint.RecordedID != "" && !slices.Contains(hint.Users, hint.RecordedID) {
		found, err := o.Read(ctx, hint.RecordedID, hint.extent(view))
		if err == nil && hint.owns(found) {
			return o.prove(ctx, hint, found, view)
		}
		isGone = rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound
		if err != nil && !isGone {
			return model.Observed{}, err
		}
	}
	id, err := o.search(ctx, Query{Tag: ownership.TagService, Value: hint.DefaultName})
	if err == nil && id == "" {
		id, err = o.search(ctx, Query{Name: hint.DefaultName})
	}
	if err != nil {
		return model.Observed{}, err
	}
	if id == "" {
		found, err := o.nothing(ctx, hint)
		found.Gone = isGone
		return found, err
	}
	found, err := o.Read(ctx, id, hint.extent(view))
	if err == nil && (hint.belongsElsewhere(found.Tags()) || hint.takesForUsers(found)) {
		return o.nothing(ctx, hint)
	}
	if err != nil {
		return found, err
	}
	return o.prove(ctx, hint, found, view)
}

// prove returns an instance that was found, or none if it lacks the tag of the cluster, as those of old versions of the
// existing CCM do, and what is on it was made by another cluster: one that was restored from its backup has Services
// with the same UIDs.
func (o Observer) prove(ctx context.Context, hint Hint, found model.Observed, view View) (model.Observed, error) {
	if _, named := found.Tags()[ownership.TagCluster]; named {
		return found, nil
	}
	whole := found
	if view == Basic {
		var err error
		if whole, err = o.Read(ctx, found.InstanceID, hint.extent(Full)); err != nil {
			return model.Observed{}, err
		}
	}
	if madeElsewhere(whole, hint.ClusterID) {
		return o.nothing(ctx, hint)
	}
	return found, nil
}

// Recorded reads so much of the recorded instance. It is found if it certainly bears the marks of the Service and its cluster.
func (o Observer) Recorded(ctx context.Context, hint Hint, e Extent) (found model.Observed, ok bool, err error) {
	e.Mark = hint.DefaultName
	found, err = o.Read(ctx, hint.RecordedID, e)
	if rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound {
		return model.Observed{}, false, nil
	}
	tags := found.Tags()
	isMarked := tags[ownership.TagService] == hint.DefaultName && tags[ownership.TagCluster] == hint.ClusterID
	return found, isMarked && hint.owns(found), err
}

// nothing is what the cloud holds for a Service that has no load balancer.
func (o Observer) nothing(ctx context.Context, hint Hint) (model.Observed, error) {
	result := model.Nothing()
	if !o.GroupsApart {
		return result, nil
	}
	found, err := o.Read(ctx, "", Extent{View: Servers, User: &Parts{Mark: hint.DefaultName}, Known: hint.Known})
	result.Groups = found.Groups
	return result, err
}

// madeElsewhere reports whether listeners and server groups name other clusters only. A name may be shortened.
func madeElsewhere(o model.Observed, clusterID string) (elsewhere bool) {
	var names []string
	for _, l := range o.Listeners {
		names = append(names, l.Description())
	}
	for _, g := range o.Groups {
		names = append(names, g.Name)
	}
	for _, name := range names {
		owner, made := ownership.MadeFor(name)
		if made && strings.HasPrefix(clusterID, owner.ClusterID) {
			return false
		}
		elsewhere = elsewhere || made
	}
	return elsewhere
}

// Serving reads the recorded instance to keep its servers right. If that isn't known to be the Service's own, but the
// one that the Service publishes, only its server groups are answered. The result has no instance if it is neither, or
// gone.
func (o Observer) Serving(ctx context.Context, hint Hint) (model.Observed, error) {
	found, err := o.Read(ctx, hint.RecordedID, hint.extent(Full))
	switch {
	case rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound:
		return model.Nothing(), nil
	case err != nil:
		return model.Observed{}, err
	case hint.owns(found):
		return found, nil
	case hint.publishes(found):
		return model.Observed{InstanceID: found.InstanceID, Groups: found.Groups}, nil
	default:
		return model.Nothing(), nil
	}
}

func (o Observer) search(ctx context.Context, q Query) (string, error) {
	found, err := o.Search(ctx, q)
	if err != nil {
		return "", fmt.Errorf("look for the load balancer: %w", err)
	}
	var ids []string
	for _, lb := range found {
		ids = append(ids, lb.InstanceID)
	}
	switch len(ids) {
	case 0:
		return "", nil
	case 1:
		return ids[0], nil
	}
	return "", fmt.Errorf("more than one load balancer carries the mark of this Service: %v; remove tag %s from all but one",
		ids, ownership.TagService)
}
