package gatewayapi_test

import (
	"fmt"
	"testing"

	"alicloud-controllers.dev/services/gateway/gatewaytest"
)

// TestCrashBesideCertificates: wherever the process dies while a grant for a certificate comes, goes and comes back, the
// next one uploads the certificate once, and the listener is there with the grant and only then.
func TestCrashBesideCertificates(t *testing.T) {
	t.Parallel()
	granted := secretsOf("red", "Gateway", "infra", "")
	steps := []struct {
		name   string
		do     func(w *world)
		listen bool
	}{
		{"granted", func(w *world) {
			w.apply(gateway("nlb", tlsAt(443, "red/one")))
			w.apply(granted)
		}, true},
		{"withdrawn", func(w *world) { w.remove("referencegrants red/secrets") }, false},
		{"granted again", func(w *world) { w.apply(granted) }, true},
	}
	for dying := range steps {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, with effect %t", steps[dying].name, after), func(t *testing.T) {
				t.Parallel()
				n := gatewaytest.From(len(t.Name()), 4)
				for died := true; died && n < 100; n += gatewaytest.Every(4) {
					play(t, func(w *world) {
						one := w.secret("red", "one")
						w.start()
						for i, step := range steps {
							if i == dying {
								w.crash.At(n, after)
							}
							step.do(w)
							w.settle()
							if i == dying {
								w.stop()
								died = w.crash.Over()
								w.start()
								w.settle()
							}
							var listeners []string
							if step.listen {
								listeners = []string{"443: " + one}
							}
							w.has(fmt.Sprintf("call %d: %s", n, step.name), []string{one}, listeners...)
						}
					})
				}
				if n < 3 {
					t.Errorf("only %d calls", n)
				}
				t.Logf("%d calls", n)
			})
		}
	}
}
