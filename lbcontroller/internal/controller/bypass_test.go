package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestIsBypassed(t *testing.T) {
	now := time.Now()
	held := func(svc *corev1.Service) { svc.Finalizers = []string{"a/b"} }
	made := func(ago time.Duration) func(*corev1.Service) {
		return func(svc *corev1.Service) { svc.CreationTimestamp = metav1.NewTime(now.Add(-ago)) }
	}
	deleted := func(svc *corev1.Service) { svc.DeletionTimestamp = new(metav1.NewTime(now)) }
	tests := map[string]struct {
		changes []func(*corev1.Service)
		want    bool
	}{
		"with a finalizer":            {[]func(*corev1.Service){held, made(time.Second)}, true},
		"made later than now":         {[]func(*corev1.Service){held, made(-time.Minute)}, true},
		"just young enough":           {[]func(*corev1.Service){held, made(bypassAge - 1)}, true},
		"too old":                     {[]func(*corev1.Service){held, made(bypassAge)}, false},
		"of unknown age":              {[]func(*corev1.Service){held}, false},
		"without a finalizer":         {[]func(*corev1.Service){made(time.Second)}, false},
		"after the finalizer is gone": {[]func(*corev1.Service){held, made(time.Second), deleted}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { check(t, "bypassed", test.want, isBypassed(web(test.changes...), now)) })
	}
}
