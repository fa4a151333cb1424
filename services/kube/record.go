package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// keyFormat and keyRecord are the keys of the ConfigMap.
	keyFormat = "format"
	keyRecord = "record"
	// maxRecord keeps a record below what the API server accepts for a ConfigMap, 1 MiB (source: k8s.io/api/core/v1, MaxSecretSize).
	maxRecord = 900 << 10
)

// Record keeps a value in a ConfigMap for the next leader. A value that can't be read is an error and never an empty value: what
// depends on it must not be done. It is not safe for concurrent use.
type Record[T any] struct {
	client          kubernetes.Interface
	namespace, name string
	format          int
	// last is the ConfigMap as it was read or written last, nil if there was none.
	last *corev1.ConfigMap
}

// NewRecord makes the record in a ConfigMap. The format is a number that changes with the meaning of T; a record of another format
// can't be read.
func NewRecord[T any](client kubernetes.Interface, namespace, name string, format int) *Record[T] {
	return &Record[T]{client: client, namespace: namespace, name: name, format: format}
}

// Load reads the value from the API server; the zero value if there is no ConfigMap.
func (r *Record[T]) Load(ctx context.Context) (T, error) {
	var value T
	found, err := r.client.CoreV1().ConfigMaps(r.namespace).Get(ctx, r.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		r.last = nil
		return value, nil
	}
	if err != nil {
		return value, fmt.Errorf("read %s: %w", r, err)
	}
	if format := found.Data[keyFormat]; format != strconv.Itoa(r.format) {
		return value, fmt.Errorf("%s has format %q, and only %d is understood; delete it to begin anew", r, format, r.format)
	}
	if err := json.Unmarshal([]byte(found.Data[keyRecord]), &value); err != nil {
		var none T
		return none, fmt.Errorf("%s can't be read, delete it to begin anew: %w", r, err)
	}
	r.last = found
	return value, nil
}

// Save writes the value, if no other client has written since the last Load or Save. After an error it is not known what the ConfigMap
// holds; Load reads it.
func (r *Record[T]) Save(ctx context.Context, value T) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", r, err)
	}
	if len(text) > maxRecord {
		return fmt.Errorf("%s would have %d bytes, at most %d are possible", r, len(text), maxRecord)
	}
	next := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.name}}
	if r.last != nil {
		next = r.last.DeepCopy()
	}
	next.Data = map[string]string{keyFormat: strconv.Itoa(r.format), keyRecord: string(text)}
	maps := r.client.CoreV1().ConfigMaps(r.namespace)
	var written *corev1.ConfigMap
	if r.last == nil {
		written, err = maps.Create(ctx, next, metav1.CreateOptions{})
	} else {
		written, err = maps.Update(ctx, next, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", r, err)
	}
	r.last = written
	return nil
}

// String names the ConfigMap.
func (r *Record[T]) String() string { return "ConfigMap " + r.namespace + "/" + r.name }
