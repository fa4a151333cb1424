package lb_test

import (
	"testing"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

const usersRsp = "rsp-of-" + usersLB

// TestPodChangesBetweenTwoOfOneGroup: two Services fill one vServer group of the user's, as for a canary, and a pod
// goes from one to the other. It is a server in the end, whichever of them sees that first.
func TestPodChangesBetweenTwoOfOneGroup(t *testing.T) {
	first, second, third := pod("10.0.0.1", "node-1"), pod("10.0.0.2", "node-1"), pod("10.0.0.3", "node-1")
	joins := func(w *world) { w.endpoints("api", second, third) }
	leaves := func(w *world) { w.endpoints("web", first) }
	for name, steps := range map[string][]func(w *world){
		"joins, then leaves":                  {joins, leaves},
		"leaves, then joins":                  {leaves, joins},
		"joins, then leaves, after a restart": {(*world).restart, joins, leaves},
		"leaves, then joins, after a restart": {(*world).restart, leaves, joins},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				withRecords(w)
				w.usersCLB(usersLB)
				w.addENI("eni-1", "10.0.0.1", "10.0.0.2", "10.0.0.3")
				w.endpoints("web", first, second)
				w.endpoints("api", third)
				w.create(web(naming(usersLB), annotated(annotation.VGroupPort, usersRsp+":80"), eniMode))
				w.create(api(443, naming(usersLB), annotated(annotation.VGroupPort, usersRsp+":443"), eniMode))
				before := w.parts(usersLB)
				for _, step := range steps {
					step(w)
					w.settle()
				}
				check(t, "parts", before, w.parts(usersLB))
			})
		})
	}
}
