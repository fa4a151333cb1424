package lb_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// tags are those of the only instance, without the marks.
func (w *world) tags() map[string]string {
	w.t.Helper()
	got := map[string]string{}
	for _, t := range w.instances()[0].GetTags() {
		got[t.GetKey()] = t.GetValue()
	}
	delete(got, "kubernetes.do.not.delete")
	delete(got, "ack.aliyun.com")
	return got
}

// addTag is somebody else's.
func (w *world) addTag(key, value string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	for _, lb := range w.cloud.LoadBalancers {
		lb.Tags = append(lb.Tags, tag(key, value))
	}
}

func untagged(svc *corev1.Service) {
	delete(svc.Annotations, annotation.Prefix+annotation.AdditionalTags)
}

// TestForgedNoteTakesNoMark: the note can be edited, and the marks of ownership stay all the same.
func TestForgedNoteTakesNoMark(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.calls()
		w.update(func(svc *corev1.Service) {
			svc.Annotations = map[string]string{annotation.OwnTags: "kubernetes.do.not.delete,ack.aliyun.com,acs:rm:rgId,nothing"}
		})
		check(t, "calls", []string(nil), w.calls())
		check(t, "note", "", w.service().Annotations[annotation.OwnTags])
	})
}

// TestTagsOfALostAnswerAreKnown: a tag is noted before it is set, so that it isn't left behind when the annotation goes before
// the controller has learned that it was set.
func TestTagsOfALostAnswerAreKnown(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		lost := &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.OutcomeUnknown, Message: "lost"}
		w.cloud.FailAfter("UpdateLoadBalancer", 1, lost)
		w.cloud.Fail("GetLoadBalancer", 3, lost)
		w.update(annotated(annotation.AdditionalTags, "team=blue"))
		check(t, "tags", map[string]string{"team": "blue"}, w.tags())
		w.update(untagged)
		check(t, "tags", map[string]string{}, w.tags())
	})
}
