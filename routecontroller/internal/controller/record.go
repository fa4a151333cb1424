package controller

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"alicloud-controllers.dev/services/kube"

	"alicloud-controllers.dev/routecontroller/internal/table"
)

const (
	// recordDeletions is the ConfigMap with the orphans and the deletions of late, and recordAdopted that with the routes without a mark.
	recordDeletions = "routecontroller-deletions"
	recordAdopted   = "routecontroller-routes"
	recordFormat    = 1
)

// tableRecord is what outlives a leader about the orphans of one table.
type tableRecord struct {
	// Orphans says since when an entry has been without a node, by "destination instance".
	Orphans map[string]time.Time `json:"orphans,omitempty"`
	// Deleted are the times of deletions that count for the budget.
	Deleted []time.Time `json:"deleted,omitempty"`
}

func (r tableRecord) equal(other tableRecord) bool {
	return maps.EqualFunc(r.Orphans, other.Orphans, time.Time.Equal) && slices.EqualFunc(r.Deleted, other.Deleted, time.Time.Equal)
}

// deletionRecord keeps the orphans and the deletions of late, by table. Only passes over tables use it, of which there is one at a time.
type deletionRecord struct {
	record *kube.Record[map[string]tableRecord]
	tables map[string]tableRecord
	loaded bool
}

func newDeletionRecord(client kubernetes.Interface, namespace string) *deletionRecord {
	return &deletionRecord{record: kube.NewRecord[map[string]tableRecord](client, namespace, recordDeletions, recordFormat)}
}

// load reads the record unless it is known, and hands a table's part to its memory.
func (l *deletionRecord) load(ctx context.Context, tableID string, m *memory) error {
	if !l.loaded {
		tables, err := l.record.Load(ctx)
		if err != nil {
			return err
		}
		if tables == nil {
			tables = map[string]tableRecord{}
		}
		l.tables, l.loaded = tables, true
	}
	if m.recorded {
		return nil
	}
	m.recorded = true
	for text, since := range l.tables[tableID].Orphans {
		key, err := parseKey(text)
		if err != nil {
			return fmt.Errorf("%s: %w", l.record, err)
		}
		if first, known := m.orphanSince[key]; !known || since.Before(first) {
			m.orphanSince[key] = since
		}
	}
	m.deleted = slices.SortedFunc(slices.Values(slices.Concat(l.tables[tableID].Deleted, m.deleted)), time.Time.Compare)
	return nil
}

// save writes what a memory holds, if it is new.
func (l *deletionRecord) save(ctx context.Context, tableID string, m *memory) error {
	next := tableRecord{Orphans: make(map[string]time.Time, len(m.orphanSince)), Deleted: m.deleted}
	for key, since := range m.orphanSince {
		next.Orphans[keyText(key)] = since
	}
	if !l.loaded || !m.recorded {
		return fmt.Errorf("%s was not read", l.record)
	}
	if next.equal(l.tables[tableID]) {
		return nil
	}
	tables := maps.Clone(l.tables)
	tables[tableID] = next
	if err := l.record.Save(ctx, tables); err != nil {
		// Another leader may have written, or this write may have come through: what counts is what is there.
		l.loaded, m.recorded = false, false
		return err
	}
	l.tables = tables
	return nil
}

// adoptedRoute is a route without a mark that a node has claimed.
type adoptedRoute struct {
	Instance string `json:"instance"`
	Node     string `json:"node"`
}

// adopted remembers the routes without a mark that nodes claim, which is what the existing CCM leaves: without their nodes nothing else
// says whose they are. To mark them in the cloud would cost a write for each.
type adopted struct {
	record *kube.Record[map[string]adoptedRoute]
	// routes are by destination. Where tables have different ones for a destination, all but the first are by "destination instance".
	routes map[string]adoptedRoute
	loaded bool
}

func newAdopted(client kubernetes.Interface, namespace string) *adopted {
	return &adopted{record: kube.NewRecord[map[string]adoptedRoute](client, namespace, recordAdopted, recordFormat)}
}

// load reads the record unless it is known, and lets all memories know the routes.
func (a *adopted) load(ctx context.Context, memories map[string]*memory) error {
	if a.loaded {
		return nil
	}
	routes, err := a.record.Load(ctx)
	if err != nil {
		return err
	}
	for text, route := range routes {
		key, err := parseKey(text)
		if err != nil {
			return fmt.Errorf("%s: %w", a.record, err)
		}
		key.InstanceID = route.Instance
		for _, m := range memories {
			if m.seen[key] == "" {
				m.seen[key] = route.Node
			}
		}
	}
	a.routes, a.loaded = routes, true
	return nil
}

// save writes the routes without a mark that the memories know, if they are others than those of the record. As long as a table was not
// read, what was known before is kept.
func (a *adopted) save(ctx context.Context, memories map[string]*memory) error {
	if !a.loaded {
		return fmt.Errorf("%s was not read", a.record)
	}
	found := map[table.Key]string{}
	for _, m := range memories {
		for key, node := range m.seen {
			if entry := m.entries[key.CIDR]; entry.Key == key && entry.Description == "" || m.entries == nil && a.has(key) {
				found[key] = node
			}
		}
	}
	next := map[string]adoptedRoute{}
	for _, key := range slices.SortedFunc(maps.Keys(found), table.CompareKeys) {
		text := key.CIDR.String()
		if _, taken := next[text]; taken {
			text = keyText(key)
		}
		next[text] = adoptedRoute{Instance: key.InstanceID, Node: found[key]}
	}
	if maps.Equal(next, a.routes) {
		return nil
	}
	if err := a.record.Save(ctx, next); err != nil {
		a.loaded = false
		return err
	}
	a.routes = next
	return nil
}

// has reports whether a route is in the record.
func (a *adopted) has(key table.Key) bool {
	return a.routes[key.CIDR.String()].Instance == key.InstanceID || a.routes[keyText(key)].Instance == key.InstanceID
}

func keyText(key table.Key) string { return key.CIDR.String() + " " + key.InstanceID }

func parseKey(text string) (table.Key, error) {
	cidr, instance, _ := strings.Cut(text, " ")
	prefix, err := netip.ParsePrefix(cidr)
	return table.Key{CIDR: prefix, InstanceID: instance}, err
}
