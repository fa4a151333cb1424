// Package slb is what the resources of the cloud's Slb product share.
package slb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// Product is what the resources share.
type Product struct {
	cloud.API
	cloud.Shared

	// Observe is to be called for every load balancer in an answer of the cloud.
	Observe func(*slbv1.LoadBalancer)

	balancers *write.Serial                 // by load balancer
	pace      write.Pace                    // how long the cloud works on a change of a load balancer
	changed   *memo.Memo[string, time.Time] // when the last change of a load balancer was answered
	releases  *memo.Memo[string, struct{}]  // load balancers whose listeners or rules let go of a vServer group a moment ago
}

// New makes a Product. Observe is called for every load balancer in an answer of the cloud.
func New(caller cloud.Caller, shared cloud.Shared, observe func(*slbv1.LoadBalancer)) *Product {
	return &Product{
		API: cloud.API{Product: openapi.SLB, Caller: caller}, Shared: shared, Observe: observe,
		balancers: write.NewSerial(shared.Locks), pace: write.NewPace(paceLife),
		changed: memo.New[string, time.Time](mostBalancers), releases: memo.New[string, struct{}](mostBalancers),
	}
}

const (
	// mostBalancers is of how many load balancers the last change is remembered at most.
	mostBalancers = 10_000
	// paceLife is how long a load balancer that was busy after a change is not sent the next one at once.
	paceLife = 5 * time.Minute
	// releaseLife is how long after a listener's change its old group may still be in use.
	releaseLife = time.Minute
)

// The cloud's limits of DescribeLoadBalancers and DescribeLoadBalancerListeners (SLB API reference), and our own.
const (
	// IDsPerCall is how many load balancers one call may name.
	IDsPerCall = 10
	// ParallelReads bounds the calls for one request, so that one big load balancer does not take the whole budget at once.
	ParallelReads = 8
)

// OnWrite adds what is to be forgotten after a write to a load balancer or to what belongs to it. It is for constructors.
func (p *Product) OnWrite(forget func(loadBalancerID string)) { p.balancers.OnWrite(forget) }

// Exclusively makes a change of one load balancer, or of what belongs to it, alone.
func (p *Product) Exclusively(ctx context.Context, loadBalancerID string, change func(ctx context.Context, w *Writer) error) error {
	return p.balancers.InTurn(ctx, loadBalancerID, func(ctx context.Context, turn *write.Turn) error {
		return change(ctx, &Writer{Turn: turn, product: p, loadBalancerID: loadBalancerID})
	})
}

// Release notes that a listener or rule of a load balancer may have let go of its vServer group.
func (p *Product) Release(loadBalancerID string) {
	p.releases.Put(loadBalancerID, struct{}{}, releaseLife)
}

// Released reports whether a listener or rule of a load balancer let go of a vServer group a moment ago. The cloud takes the group for
// used for a while.
func (p *Product) Released(loadBalancerID string) bool {
	_, released := p.releases.Get(loadBalancerID)
	return released
}

// Metadata is what requests to change any resource may have.
type Metadata interface {
	GetSetTags() []*commonv1.Tag
	GetRemoveTagKeys() []string
	GetResourceGroupId() string
}

// ChangeMetadata changes the tags and the resource group of a resource that SLB calls a kind, one call each.
func (p *Product) ChangeMetadata(ctx context.Context, kind, id string, notFound rpcerr.Reason, r Metadata) error {
	calls := cloud.TagCalls(openapi.SLB, kind, id, r.GetSetTags(), r.GetRemoveTagKeys())
	if group := r.GetResourceGroupId(); group != "" {
		calls = append(calls, cloud.Write(openapi.SLB, "MoveResourceGroup",
			cloud.Params{"ResourceType": kind, "ResourceId": id, "NewResourceGroupId": group}))
	}
	return cloud.WithNotFoundReason(notFound, p.SetAll(ctx, calls))
}

// Writer sends the changes of the listeners and groups of one instance, whose lock is held. The instance applies them one after
// the other and refuses the next one meanwhile. After one that it has refused, each waits as long as the instance has needed.
type Writer struct {
	*write.Turn

	product        *Product
	loadBalancerID string
	refused        bool // the last change sent, as busy
}

// Send sends a change. Others may be sent before it.
func (w *Writer) Send(ctx context.Context, action string, params cloud.Params, out any) error {
	return w.do(ctx, cloud.Write(openapi.SLB, action, params), out, w.StepAside)
}

// Create sends a creation, which relies on what was read before: no other change comes in between.
func (w *Writer) Create(ctx context.Context, action string, params cloud.Params, out any) error {
	return w.do(ctx, cloud.Write(openapi.SLB, action, params), out, cloud.Sleep)
}

// SetOnce sends a change that says how something shall be, so that it may be sent twice.
func (w *Writer) SetOnce(ctx context.Context, action string, params cloud.Params) error {
	call := cloud.Write(openapi.SLB, action, params)
	call.Idempotent = true
	return w.do(ctx, call, nil, w.StepAside)
}

// Set is SetOnce, repeated while the instance is busy.
func (w *Writer) Set(ctx context.Context, action string, params cloud.Params) error {
	return w.Retry(ctx, cloud.Busy, func(ctx context.Context) error { return w.SetOnce(ctx, action, params) })
}

// Retry is cloud.Retry for changes that may be sent again after those of others: what the cloud is busy with may be no
// more than one listener or group of the instance.
func (w *Writer) Retry(ctx context.Context, again func(error) bool, attempt func(ctx context.Context) error) error {
	return cloud.RetryWith(ctx, w.StepAside, again, attempt)
}

func (w *Writer) do(
	ctx context.Context, call openapi.Call, out any, sleep func(context.Context, time.Duration) bool,
) error {
	p, id := w.product, w.loadBalancerID
	waited, last := w.settle(ctx, sleep)
	if !w.Held() {
		return rpcerr.Errorf(rpcerr.ResourceBusy, "other changes of %s took until the deadline", id).WithRetry(time.Second)
	}
	pause := p.pace.Of(id)
	result, err := p.Caller.Do(ctx, call, out)
	switch after := result.Sent.Sub(last); {
	case last.IsZero() || result.Sent.IsZero():
	case w.refused && err == nil && pause == 0:
		p.pace.Took(id, after)
	case w.refused || !waited || after < pause: // It says nothing about the pause.
	case err == nil:
		p.pace.Sufficed(id)
	case cloud.Busy(err):
		p.pace.TooShort(id)
	}
	w.refused = cloud.Busy(err)
	if err == nil || cloud.Unclear(err) {
		p.changed.Put(id, time.Now(), paceLife)
	}
	return err
}

// settle waits until the instance is likely to have applied the change before, and returns when that was answered; a
// zero time if it is not known. Without time to wait, the next one is sent at once: the instance may be ready sooner
// than expected.
func (w *Writer) settle(ctx context.Context, sleep func(context.Context, time.Duration) bool) (waited bool, last time.Time) {
	for {
		last, _ = w.product.changed.Get(w.loadBalancerID)
		wait := w.product.pace.Of(w.loadBalancerID) - time.Since(last)
		if wait <= 0 || w.refused || !sleep(ctx, wait) {
			return waited, last
		}
		waited, sleep = true, cloud.Sleep // A change that came in between doesn't make it wait for its turn once more.
	}
}

const (
	// mostOwned and ownedLife bound of how many parts of one kind, and for how long, the load balancer is remembered.
	mostOwned = 20_000
	ownedLife = 24 * time.Hour
)

// Owners knows of which load balancers the parts are that have ids of their own, e.g. vServer groups. The load
// balancer decides in which order writes go and what is forgotten after them. A part never moves to another load balancer, so one answer of
// the cloud that names both is enough.
type Owners struct {
	product *Product
	kind    string // for errors
	absent  rpcerr.Reason
	find    func(ctx context.Context, id, claimed string) (loadBalancerID string, err error)
	of      *memo.Memo[string, string]
}

// NewOwners makes Owners. Find reads the load balancer of a part that is not known; it gives "" if there is no such part. Claimed is the
// load balancer that the request names; "" if it names none. Absent is the reason of an error about a part that does not exist.
func NewOwners(
	p *Product, kind string, absent rpcerr.Reason, find func(ctx context.Context, id, claimed string) (loadBalancerID string, err error),
) *Owners {
	return &Owners{product: p, kind: kind, absent: absent, find: find, of: memo.New[string, string](mostOwned)}
}

// Find gives the load balancer of a part of which the request names none.
func (o *Owners) Find(ctx context.Context, id string) (string, error) {
	of, err := o.owner(ctx, id, "")
	if err == nil && of == "" {
		err = rpcerr.Errorf(o.absent, "there is no %s %s in this region, or the gateway may not see it", o.kind, id)
	}
	return of, err
}

// Exclusively is Product.Exclusively for a change of a part of the load balancer.
func (o *Owners) Exclusively(
	ctx context.Context, id, loadBalancerID string, change func(ctx context.Context, w *Writer) error,
) error {
	if err := o.confirm(ctx, id, loadBalancerID); err != nil {
		return err
	}
	return o.product.Exclusively(ctx, loadBalancerID, change)
}

// Learn notes of which load balancer a part is, as an answer of the cloud says.
func (o *Owners) Learn(id, loadBalancerID string) {
	if id != "" && loadBalancerID != "" && o.Of(id) != loadBalancerID {
		o.of.Put(id, loadBalancerID, ownedLife)
	}
}

// Of gives the load balancer of a part; "" if it is not known.
func (o *Owners) Of(id string) string {
	of, _ := o.of.Get(id)
	return of
}

// confirm refuses a request that names another load balancer than that of the part. A part that does not exist passes:
// to say so is up to the cloud.
func (o *Owners) confirm(ctx context.Context, id, loadBalancerID string) error {
	of, err := o.owner(ctx, id, loadBalancerID)
	if err == nil && of != "" && of != loadBalancerID {
		err = rpcerr.Invalidf("load_balancer_id", "%s %s is of %s; name that load balancer, or none", o.kind, id, of)
	}
	return err
}

// owner gives the load balancer of a part; "" if there is no such part.
func (o *Owners) owner(ctx context.Context, id, claimed string) (string, error) {
	of := o.Of(id)
	if of != "" {
		return of, nil
	}
	of, err := o.find(ctx, id, claimed)
	if err != nil {
		return "", fmt.Errorf("find the load balancer of %s %s: %w", o.kind, id, err)
	}
	o.Learn(id, of)
	return of, nil
}

// LooseList reads a JSON list of strings, or a comma list in one string.
func LooseList(raw json.RawMessage) []string {
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	if s := cloud.Text(raw); s != "" {
		return strings.Split(s, ",")
	}
	return nil
}

// Moment reads a time in milliseconds; nil if there is none.
func Moment(text string) *timestamppb.Timestamp {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms <= 0 {
		return nil
	}
	return timestamppb.New(time.UnixMilli(ms))
}

// Is compares with a word of the cloud, for Via, in any case: it may be spelt as another tool has sent it.
func Is(word string) func(string) bool {
	return func(w string) bool { return strings.EqualFold(w, word) }
}

// ProtocolName gives the cloud's name of a protocol in capitals, e.g. "TCP".
func ProtocolName(p slbv1.Protocol) string {
	return strings.TrimPrefix(p.String(), "PROTOCOL_")
}

// ServerType is the kind of server that the cloud names, ECS if it names none.
func ServerType(word string) slbv1.ServerType {
	return cloud.Named[slbv1.ServerType](cmp.Or(word, "ecs"))
}

// Word is the cloud's word for a value of an enumeration, of which SLB mostly knows small letters.
func Word[E cloud.Enum](value E) string { return strings.ToLower(cloud.Word(value)) }

// KeyParams names a listener by its port.
func KeyParams(key *slbv1.ListenerKey) cloud.Params {
	return cloud.Params{
		"LoadBalancerId": key.GetLoadBalancerId(),
		"ListenerPort":   strconv.Itoa(int(key.GetPort())),
	}
}

// StateParams also names the protocol, since TCP and UDP may share a port.
func StateParams(key *slbv1.ListenerKey) cloud.Params {
	return KeyParams(key).With("ListenerProtocol", strings.ToLower(ProtocolName(key.GetProtocol())))
}

// ListenerName names a listener in the caches.
func ListenerName(key *slbv1.ListenerKey) string {
	return fmt.Sprintf("%s%d/%s", ListenersOf(key.GetLoadBalancerId()), key.GetPort(), ProtocolName(key.GetProtocol()))
}

// ListenersOf is what the names of all listeners of an instance begin with.
func ListenersOf(loadBalancerID string) string { return loadBalancerID + " " }

// OfListeners finds the names of all listeners of an instance.
func OfListeners(loadBalancerID string) func(name string) bool {
	return func(name string) bool { return strings.HasPrefix(name, ListenersOf(loadBalancerID)) }
}
