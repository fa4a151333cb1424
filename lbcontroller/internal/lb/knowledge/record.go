package knowledge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"alicloud-controllers.dev/services/reconcile"
)

const (
	// quiet is how long new entries are gathered before they are written.
	quiet = 5 * time.Second
	// maxBytes bounds the entries: the values of a ConfigMap may have 1 MiB, and the whole object 1.5 MiB in etcd, with
	// the managed fields. That is enough for 9 400 Services whose names have 30 characters with the namespace, and 3 400
	// of the longest names. Others are read at a restart.
	maxBytes = 1 << 20
	// patience bounds one request to the API server.
	patience = 5 * time.Second
)

// RecordConfig is what a Record needs.
type RecordConfig struct {
	Client kubernetes.Interface
	// Namespace and Name are those of the ConfigMap.
	Namespace, Name string
	Logger          *slog.Logger
}

// errNoRecord refuses what can't be kept.
var errNoRecord = errors.New("there is no record")

// Record keeps, beyond the life of a process, which backends each Service was last known to have in the cloud. A new
// leader reads the record instead of every load balancer: what is wanted and recorded needs no look before its turn. A
// nil Record records nothing and knows nothing.
//
// The record is a ConfigMap in the namespace of the controller, not a mark on the Services: backends change with every
// node, and a write to a Service is sent to every node of the cluster.
type Record struct {
	RecordConfig
	// busy holds a token while a request is under way.
	busy chan struct{}
	// wake gets a token when there is something to write.
	wake chan struct{}

	mu      sync.Mutex
	version string // of the ConfigMap
	read    bool
	exists  bool
	stored  map[string]string // what the ConfigMap holds
	wanted  map[string]string // what it is to hold where that differs; empty removes
	sent    map[string]bool   // which the ConfigMap may say to be applied: a request that says so is under way, or its answer was lost
}

// NewRecord makes a Record; Run writes what it gathers.
func NewRecord(cfg RecordConfig) *Record {
	return &Record{RecordConfig: cfg, busy: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		wanted: map[string]string{}, sent: map[string]bool{}}
}

// Get returns the digest of what a Service was last known to have in the cloud, Outdated if it was being changed, or ""
// for nothing. Without an answer of the API server nothing is known of any.
func (s *Record) Get(ctx context.Context, key string) string {
	if s == nil {
		return ""
	}
	if err := s.load(ctx); err != nil {
		s.Logger.Warn("the record of backends can't be read; load balancers are read instead", "configMap", s.Name, "error", err)
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok := s.wanted[name(key)]; ok {
		return value
	}
	return s.stored[name(key)]
}

// Set records a digest, soon; "" forgets the Service.
func (s *Record) Set(key, digest string) {
	if s != nil {
		s.want(name(key), digest)
	}
}

// Remove forgets a Service before its finalizer goes: it would not be done later. An API server that fails holds nothing up.
func (s *Record) Remove(ctx context.Context, key string) {
	if s != nil {
		s.writeNow(ctx, key, "")
	}
}

// Change records that a Service is changed, before that is done: only then a crash on the way can't be taken for success. An API
// server that fails doesn't hold the change up: the record is wrong only if the process dies before the change is
// recorded, and what is wanted goes back meanwhile.
func (s *Record) Change(ctx context.Context, key string) {
	if s == nil {
		return
	}
	if err := s.load(ctx); err != nil {
		s.Logger.Warn("the record of backends can't be read, nor changed", "configMap", s.Name, "service", key, "error", err)
		return
	}
	if s.isApplied(name(key)) {
		s.writeNow(ctx, key, Outdated)
	}
}

// isApplied reports whether the ConfigMap says what the cloud has for a Service, or may, or soon does. What is to take
// the place of that is not there yet.
func (s *Record) isApplied(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent[name] || isDigest(s.stored[name]) || isDigest(s.wanted[name])
}

// writeNow records a value and waits until it is written. The worker is free for other Services meanwhile, whose values
// go with the next request.
func (s *Record) writeNow(ctx context.Context, key, value string) {
	s.want(name(key), value)
	reconcile.Waiting(ctx, func() {
		if err := s.flush(ctx, name(key)); err != nil { // Run tries it again. The caller that waits here changes the cloud.
			s.Logger.Warn("the record of backends can't be written", "configMap", s.Name, "service", key, "error", err)
		}
	})
}

// Memo reads a text of the kind's own, "" if there is none, from the API server. Its name must have no dot.
func (s *Record) Memo(ctx context.Context, name string) (string, error) {
	if s == nil {
		return "", errNoRecord
	}
	err := s.request(ctx, func(ctx context.Context) error {
		s.mu.Lock()
		s.read = false // Another leader may have written since.
		s.mu.Unlock()
		return s.loadNow(ctx)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored[name], err
}

// Commit writes such a text. Without an error the next leader finds it. If another client has written since it was
// read, nothing is written.
func (s *Record) Commit(ctx context.Context, name, text string) error {
	if s == nil {
		return errNoRecord
	}
	s.mu.Lock()
	unchanged := s.read && s.stored[name] == text
	s.wanted[name] = text
	s.mu.Unlock()
	if unchanged {
		return nil
	}
	err := s.request(ctx, func(ctx context.Context) error { return s.write(ctx, name) })
	if err != nil {
		s.mu.Lock()
		delete(s.wanted, name)
		s.read = false
		s.mu.Unlock()
	}
	return err
}

// Run writes gathered entries until ctx ends. What is gathered then is lost: those Services are read at the next start.
func (s *Record) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(quiet):
		}
		if err := s.flush(ctx, ""); err != nil && ctx.Err() == nil {
			s.Logger.Warn("the record of backends can't be written", "configMap", s.Name, "error", err)
			s.signal()
		}
	}
}

func (s *Record) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Record) want(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, pending := s.wanted[name]
	if pending && last == value || !pending && s.read && s.stored[name] == value {
		return
	}
	s.wanted[name] = value
	s.signal()
}

// request lets one request to the API server go on at a time.
func (s *Record) request(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.busy }()
	return do(ctx)
}

// load reads the ConfigMap unless that was done.
func (s *Record) load(ctx context.Context) error {
	if s.isRead() {
		return nil
	}
	return s.request(ctx, s.loadNow)
}

func (s *Record) isRead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read
}

func (s *Record) loadNow(ctx context.Context) error {
	if s.isRead() {
		return nil
	}
	found, err := s.Client.CoreV1().ConfigMaps(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read, s.exists = true, err == nil
	clear(s.sent)
	s.version, s.stored = "", nil
	if s.exists {
		s.version, s.stored = found.ResourceVersion, found.Data
	}
	return nil
}

// flush writes all that is wanted in one request, unless another has written what is wanted for one Service meanwhile.
func (s *Record) flush(ctx context.Context, only string) error {
	return s.request(ctx, func(ctx context.Context) error {
		err := s.write(ctx, only)
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
			// Another client has written: a leader before this one whose last write was under way, or an operator who deleted it.
			s.mu.Lock()
			s.read = false
			s.mu.Unlock()
			err = s.write(ctx, only)
		}
		return err
	})
}

func (s *Record) write(ctx context.Context, only string) error {
	if err := s.loadNow(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	if _, pending := s.wanted[only]; only != "" && !pending {
		s.mu.Unlock()
		return nil
	}
	data := maps.Clone(s.wanted)
	exists, version, patch := s.exists, s.version, map[string]any{}
	size := 0
	for name, value := range s.stored {
		size += bytesOf(name, value)
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		value, old := data[name], s.stored[name]
		size += bytesOf(name, value) - bytesOf(name, old)
		if size > maxBytes && isEntry(name) && value != "" { // It must not stay as it was either.
			size -= bytesOf(name, value)
			value = ""
		}
		switch {
		case value == old && !s.sent[name]:
		case value == "":
			patch[name] = nil
		default:
			patch[name] = value
			s.sent[name] = s.sent[name] || isDigest(value)
		}
	}
	next := s.stored
	if len(patch) > 0 {
		next = patched(s.stored, patch)
	}
	s.mu.Unlock()
	if len(patch) > 0 {
		var err error
		if version, err = s.send(ctx, exists, version, next, patch); err != nil {
			return fmt.Errorf("write ConfigMap %s/%s: %w", s.Namespace, s.Name, err)
		}
		exists = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exists, s.version, s.stored = exists, version, next
	if len(patch) > 0 {
		clear(s.sent)
	}
	for name, value := range data {
		if s.wanted[name] == value {
			delete(s.wanted, name)
		}
	}
	return nil
}

// patched is what the ConfigMap holds after a patch.
func patched(stored map[string]string, patch map[string]any) map[string]string {
	next := maps.Clone(stored)
	if next == nil {
		next = map[string]string{}
	}
	for name, value := range patch {
		if text, ok := value.(string); ok {
			next[name] = text
		} else {
			delete(next, name)
		}
	}
	return next
}

// send creates or patches the ConfigMap and answers its version. Only the version that is known is patched.
func (s *Record) send(ctx context.Context, exists bool, version string, all map[string]string, changes map[string]any) (string, error) {
	configMaps := s.Client.CoreV1().ConfigMaps(s.Namespace)
	if !exists {
		created, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace,
			Name: s.Name}, Data: all}, metav1.CreateOptions{})
		if err != nil {
			return "", err
		}
		return created.ResourceVersion, nil
	}
	body := map[string]any{"data": changes}
	if version != "" {
		body["metadata"] = map[string]any{"resourceVersion": version}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	patched, err := configMaps.Patch(ctx, s.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil {
		return "", err
	}
	return patched.ResourceVersion, nil
}
