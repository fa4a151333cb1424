package lb_test

import (
	corev1 "k8s.io/api/core/v1"

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

func untagged(svc *corev1.Service) {
	delete(svc.Annotations, annotation.Prefix+annotation.AdditionalTags)
}
