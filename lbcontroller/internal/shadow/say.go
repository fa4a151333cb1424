package shadow

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Verdict says why something isn't done; the zero value that it is.
type Verdict struct{ Reason, Message string }

// Refuse is a verdict.
func Refuse[R ~string](reason R, format string, args ...any) Verdict {
	return Verdict{string(reason), fmt.Sprintf(format, args...)}
}

// Condition is true, for the reason of the same name, or false with a verdict. It has no time.
func Condition[T ~string](generation int64, kind T, refused Verdict, note string) metav1.Condition {
	c := metav1.Condition{Type: string(kind), Status: metav1.ConditionTrue, Reason: string(kind), Message: note,
		ObservedGeneration: generation}
	if refused.Reason != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, refused.Reason, refused.Message
	}
	return c
}

// Settle puts conditions in place of those of their types, and says which say something else than before.
func Settle(have *[]metav1.Condition, put []metav1.Condition, changed func(metav1.Condition)) {
	for _, p := range put {
		if old := meta.FindStatusCondition(*have, p.Type); old == nil || old.Reason != p.Reason || old.Message != p.Message {
			changed(p)
		}
		meta.SetStatusCondition(have, p)
	}
}

// Put writes the status of an object if it is another one.
func Put[T any](ctx context.Context, old, next T, write func(context.Context, T, metav1.UpdateOptions) (T, error)) error {
	if equality.Semantic.DeepEqual(old, next) {
		return nil
	}
	_, err := write(ctx, next, metav1.UpdateOptions{})
	return err
}

// NameOf names an object.
func NameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Older orders objects by age; those of the same second by name.
func Older(a, b metav1.Object) int {
	return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time),
		strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
}
