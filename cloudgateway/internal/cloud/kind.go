package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
)

// Kind describes a kind of resource once: how its resources are listed, found by id, decoded and told apart, and by
// what callers may filter them. Reads, caches, the scopes of callers and the tests go by it; see Collection. M is its
// message.
type Kind[M any] struct {
	// Name is how errors, and the owner of a method in the protocol, call it, e.g. "EIP".
	Name string
	// Cache is the label of its metrics, e.g. "eips".
	Cache string
	// NotFound is the reason of the error that there is none.
	NotFound rpcerr.Reason
	// Listing is the action that lists resources of the kind.
	Listing[*M]
	// Filters say how the fields of a request to list become parameters, where they are not called like them: vpc_id is VpcId.
	Filters map[string]Filter
	// IDs is the field that filters by ids, and so has a row in Filters.
	IDs string
	// SameName picks the resources that have the name of a request, where the cloud finds more or does not filter by it.
	SameName bool
	// Passes are parameters, with each of which the listing shows a part of the resources; none: it shows all of them.
	Passes []Params
	// Mark is the name of a resource that has no tags; see MarkOf. Nil: it has tags, or none that count.
	Mark func(*M) string
	// Read reads one resource, of a kind whose listing does not show all of a resource; nil: the listing does.
	Read func(ctx context.Context, id string) (*M, error)
	// Observe is called for each resource in an answer of the listing; nil: nothing is.
	Observe func(*M)
	// Gathering is how reads of single resources wait for others.
	Gathering
}

// Gathering shapes the calls that reads of single items share; see batch.Config. The default is for reads that come
// while others are under way: one that comes alone hardly waits.
type Gathering struct {
	Idle, Max time.Duration
	Parallel  int
}

// ListRequest is a request to list resources of a kind.
type ListRequest interface {
	proto.Message
	GetMaxAge() *durationpb.Duration
}

// Filter makes parameters of the field of a request.
type Filter struct {
	add     func(p Params, values []string)
	perCall int // of a list, how many of its values a call takes; 0: it is a single value
	most    int // of more ids, all resources are listed, and these picked; 0: of none
}

// Param is a parameter with one value.
func Param(name string) Filter {
	return Filter{add: func(p Params, values []string) { p.With(name, values[0]) }}
}

// CommaList is a parameter with up to perCall values, separated by commas.
func CommaList(name string, perCall int) Filter {
	return Filter{add: func(p Params, values []string) { p.With(name, strings.Join(values, ",")) }, perCall: perCall}
}

// Indexed are up to perCall parameters, name.1, name.2, …
func Indexed(name string, perCall int) Filter {
	return Filter{add: func(p Params, values []string) { p.List(name, values) }, perCall: perCall}
}

// JSONList is a parameter with up to perCall values in JSON form.
func JSONList(name string, perCall int) Filter {
	return Filter{add: func(p Params, values []string) { p.JSONList(name, values) }, perCall: perCall}
}

// Here is a filter that the cloud does not have.
func Here() Filter { return Filter{add: func(Params, []string) {}} }

// Lower writes the values in small letters.
func (f Filter) Lower() Filter {
	add := f.add
	f.add = func(p Params, values []string) { add(p, []string{strings.ToLower(values[0])}) }
	return f
}

// Upper writes the values in capitals.
func (f Filter) Upper() Filter {
	add := f.add
	f.add = func(p Params, values []string) { add(p, []string{strings.ToUpper(values[0])}) }
	return f
}

// With adds a parameter where the filter is used.
func (f Filter) With(name, value string) Filter {
	add := f.add
	f.add = func(p Params, values []string) {
		add(p, values)
		p.With(name, value)
	}
	return f
}

// UpTo lists all resources where more than so many ids are given, and picks those that are wanted: the cloud takes few ids in a call.
func (f Filter) UpTo(most int) Filter {
	f.most = most
	return f
}

// query is what a request asks the cloud for.
type query struct {
	params Params
	lists  []list
	ids    []string // nil: it is not by id
	name   string   // empty: it is not by name
	tags   []*commonv1.Tag
}

// list is a filter with many values.
type list struct {
	Filter

	field  string
	values []string
}

// queryOf reads a request. Each of its fields is a filter, but those that all requests may have.
func (k *Kind[M]) queryOf(request ListRequest) query {
	q := query{params: Params{}}
	request.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		name := string(field.Name())
		filter, named := k.Filters[name]
		if !named {
			filter = Param(paramName(name))
		}
		switch {
		case name == "max_age", name == "page_size", name == "page_token":
		case name == "tags":
			q.tags = tagsOf(value.List())
			Tags(q.params, q.tags)
		case field.IsList():
			values := make([]string, value.List().Len())
			for i := range values {
				values[i] = value.List().Get(i).String()
			}
			values = Sorted(values)
			if name == k.IDs {
				q.ids = values
			}
			if filter.perCall > 0 && (filter.most == 0 || len(values) <= filter.most) {
				q.lists = append(q.lists, list{filter, name, values})
			}
		case field.Kind() == protoreflect.EnumKind:
			filter.add(q.params, []string{wordOf(field.Enum(), value.Enum())})
		default:
			if name == "name" {
				q.name = value.String()
			}
			filter.add(q.params, []string{value.String()})
		}
		return true
	})
	slices.SortFunc(q.lists, func(a, b list) int { return strings.Compare(a.field, b.field) })
	return q
}

func tagsOf(list protoreflect.List) []*commonv1.Tag {
	tags := make([]*commonv1.Tag, list.Len())
	for i := range tags {
		tags[i], _ = list.Get(i).Message().Interface().(*commonv1.Tag)
	}
	return SortedBy(tags, (*commonv1.Tag).GetKey)
}

// paramName is how the cloud mostly calls what a field is: vpc_id is VpcId.
func paramName(field string) string {
	var name strings.Builder
	for part := range strings.SplitSeq(field, "_") {
		name.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return strings.Replace(name.String(), "Vswitch", "VSwitch", 1)
}

// key tells a query from others in the cache.
func (q query) key() string {
	key := fmt.Appendf(nil, "%q", q.params)
	for _, l := range q.lists {
		key = fmt.Appendf(key, " %s%q", l.field, l.values)
	}
	return string(key)
}

// all reads everything that a query selects now, ordered by id, in as many calls as its lists take.
func (k *Kind[M]) all(ctx context.Context, api API, q query) ([]*M, error) {
	if len(q.lists) == 0 {
		found, err := k.passes(ctx, api, q.params)
		if k.Observe != nil {
			for _, m := range found {
				k.Observe(m)
			}
		}
		return Distinct(found, k.ID), err
	}
	first := q.lists[0]
	found, err := InChunks(first.values, first.perCall, func(some []string) ([]*M, error) {
		params := Params{}.Merge(q.params)
		first.add(params, some)
		return k.all(ctx, api, query{params: params, lists: q.lists[1:]})
	})
	return Distinct(found, k.ID), err
}

// passes reads all parts of the listing.
func (k *Kind[M]) passes(ctx context.Context, api API, params Params) ([]*M, error) {
	if len(k.Passes) == 0 {
		return k.All(ctx, api, params)
	}
	var all []*M
	for _, pass := range k.Passes {
		found, err := k.All(ctx, api, Params{}.Merge(params).Merge(pass))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Collection is the resources of a kind. Its reads are shared and remembered; see batch.Reader. What they return may not be changed.
type Collection[M any] struct {
	kind  Kind[M]
	api   API
	items *batch.Reader[string, *M]   // nil: there is no such resource
	lists *batch.Reader[string, []*M] // by query
}

// NewCollection makes a Collection.
func NewCollection[M any](api API, shared Shared, kind Kind[M]) *Collection[M] {
	c := &Collection[M]{kind: kind, api: api, lists: NewCache[[]*M](shared, kind.Cache+"_lists")}
	if !kind.gathers() {
		c.items = NewCache[*M](shared, kind.Cache)
		return c
	}
	ids := kind.Filters[kind.IDs]
	c.items = NewReader(shared, kind.Cache, ids.perCall, kind.Gathering, func(ctx context.Context, some []string) (map[string]*M, error) {
		params := Params{}
		ids.add(params, Sorted(some))
		found, err := kind.all(ctx, api, query{params: params})
		return ByKey(found, kind.ID), err
	})
	return c
}

// gathers reports whether reads of single resources share calls of the listing.
func (k *Kind[M]) gathers() bool { return k.Read == nil && k.Filters[k.IDs].perCall > 0 }

// Get reads one resource. That there is none is an error.
func (c *Collection[M]) Get(ctx context.Context, id string, maxAge *durationpb.Duration) (*M, error) {
	return c.found(id)(c.get(ctx, id, maxAge.AsDuration()))
}

// get reads one resource; nil: there is none.
func (c *Collection[M]) get(ctx context.Context, id string, maxAge time.Duration) (*M, error) {
	switch {
	case c.kind.Read != nil:
		return c.items.Do(ctx, id, maxAge, func(ctx context.Context) (*M, error) { return c.kind.Read(ctx, id) })
	case c.kind.gathers():
		return c.items.Get(ctx, id, maxAge)
	default:
		all, err := c.list(ctx, query{}, maxAge)
		return ByKey(all, c.kind.ID)[id], err
	}
}

// found makes an absence an error.
func (c *Collection[M]) found(id string) func(*M, error) (*M, error) {
	return func(m *M, err error) (*M, error) {
		if err == nil && m == nil {
			err = c.NotFound(id)
		}
		return m, err
	}
}

// NotFound is the error that there is no resource with an id.
func (c *Collection[M]) NotFound(id string) error {
	return NotFound(c.kind.NotFound, string(c.api.Product)+"/"+c.kind.Action, c.kind.Name+" "+id)
}

// BatchGet reads many resources. The results are in the order of the ids; that there is none is an error of its own.
func (c *Collection[M]) BatchGet(ctx context.Context, ids []string, maxAge *durationpb.Duration) []batch.Result[*M] {
	results := c.items.GetMany(ctx, ids, maxAge.AsDuration())
	for i, id := range ids {
		yield(i)
		results[i].Value, results[i].Err = c.found(id)(results[i].Value, results[i].Err)
	}
	return results
}

// List reads every resource that a request selects, ordered by id. One that is asked for by its id and that there is not is left out.
func (c *Collection[M]) List(ctx context.Context, request ListRequest) ([]*M, error) {
	q, maxAge := c.kind.queryOf(request), request.GetMaxAge().AsDuration()
	var found []*M
	var err error
	if q.ids != nil && len(q.params) == 0 && len(q.lists) == 1 && c.kind.gathers() && q.lists[0].field == c.kind.IDs {
		found, err = batch.Values(c.items.GetMany(ctx, q.ids, maxAge))
	} else {
		found, err = c.list(ctx, q, maxAge)
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(found), func(m *M) bool { return m == nil || !c.kind.fits(q, m) }), nil
}

// fits reports whether a resource is as a query wants it, also in what the cloud does not filter by.
func (k *Kind[M]) fits(q query, m *M) bool {
	if _, wanted := slices.BinarySearch(q.ids, k.ID(m)); q.ids != nil && !wanted {
		return false
	}
	tagged, ok := any(m).(interface{ GetTags() []*commonv1.Tag })
	if ok && !hasTags(tagged.GetTags(), q.tags) { // NLB finds what has any of them.
		return false
	}
	named, ok := any(m).(interface{ GetName() string })
	return !k.SameName || q.name == "" || ok && named.GetName() == q.name
}

func (c *Collection[M]) list(ctx context.Context, q query, maxAge time.Duration) ([]*M, error) {
	return c.lists.Do(ctx, q.key(), maxAge, func(ctx context.Context) ([]*M, error) { return c.kind.all(ctx, c.api, q) })
}

// hasTags reports whether there are all wanted tags. One without a value may have any.
func hasTags(there, wanted []*commonv1.Tag) bool {
	for _, w := range wanted {
		if !slices.ContainsFunc(there, func(t *commonv1.Tag) bool {
			return t.GetKey() == w.GetKey() && (w.GetValue() == "" || t.GetValue() == w.GetValue())
		}) {
			return false
		}
	}
	return true
}

// Find reads what the parameters select now, ordered by id. Nothing that is remembered, and no read that is under way,
// is part of the answer.
func (c *Collection[M]) Find(ctx context.Context, params Params) ([]*M, error) {
	return c.kind.all(ctx, c.api, query{params: params})
}

// Look reads a resource as it is after all that was sent; nil: there is none.
func (c *Collection[M]) Look(ctx context.Context, id string) (*M, error) {
	c.items.Invalidate(id) // A read under way may have begun before.
	m, err := c.get(ctx, id, 0)
	return m, Unless(err, c.kind.NotFound)
}

// Forget drops what is remembered of a resource that was written to, and of all lists.
func (c *Collection[M]) Forget(id string) {
	c.items.Invalidate(id)
	c.lists.Clear()
}

// ForgetAll drops everything that is remembered.
func (c *Collection[M]) ForgetAll() {
	c.items.Clear()
	c.lists.Clear()
}

// ForgetItems drops single resources that are remembered, because they show something of what was written to.
func (c *Collection[M]) ForgetItems() { c.items.Clear() }

// ForgetLists drops the lists that are remembered, because a resource was made.
func (c *Collection[M]) ForgetLists() { c.lists.Clear() }

// Owner is a kind of resource that has tags, or a VPC, of its own, which say who may change it.
type Owner interface {
	// Kind is the name of the kind.
	Kind() string
	// Facts reads them of a resource, as they were up to maxAge ago.
	Facts(ctx context.Context, id string, maxAge time.Duration) (tags []*commonv1.Tag, vpcID string, err error)
}

// Kind implements Owner.
func (c *Collection[M]) Kind() string { return c.kind.Name }

// Facts implements Owner.
func (c *Collection[M]) Facts(ctx context.Context, id string, maxAge time.Duration) (tags []*commonv1.Tag, vpcID string, err error) {
	m, err := c.found(id)(c.get(ctx, id, maxAge))
	if err != nil {
		return nil, "", err
	}
	if tagged, ok := any(m).(interface{ GetTags() []*commonv1.Tag }); ok {
		tags = tagged.GetTags()
	}
	if c.kind.Mark != nil {
		tags = MarkOf(c.kind.Mark(m))
	}
	if in, ok := any(m).(interface{ GetVpcId() string }); ok {
		vpcID = in.GetVpcId()
	}
	return tags, vpcID, nil
}
