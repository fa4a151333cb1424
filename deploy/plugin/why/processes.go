package why

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// OtherLease is the Lease of the existing cloud controller manager, which keeps ours from leading as long as it is
// renewed.
const OtherLease = "ccm"

// processes looks whether somebody works for the thing: the controller, and the gateway that it asks.
func (f Facts) processes(a *Answer) {
	for _, process := range []string{f.Thing.Controller(), "cloudgateway"} {
		if f.Leases == nil {
			return
		}
		ready, all := 0, f.Pods[process]
		leader, since := f.leader(process)
		var waits []string
		known := len(all) == 0
		for _, pod := range all {
			known = known || pod.Name == leader
			if isReady(pod) {
				ready++
			} else {
				waits = append(waits, pod.Name+" "+state(pod))
			}
		}
		text := fmt.Sprintf("%d of %d pods ready", ready, len(all))
		other, otherSince := f.leader(OtherLease)
		switch {
		case leader == "" && other != "" && process != "cloudgateway":
			a.add("no "+process+" leads: another cloud controller manager runs: "+other+" renews the Lease kube-system/"+OtherLease,
				"end it (docs/migrate.md), or set allowExistingCCM if the two share no work")
			text += "; " + other + " renewed the Lease " + OtherLease + " " + otherSince + " ago"
		case leader == "" && process == "routecontroller" && len(all) == 0:
			a.add("no routecontroller is installed (mode terway), so routes are not ours", "look at the network plugin")
		case leader == "":
			a.add("no "+process+" leads: "+cmp.Or(since, "nobody holds its Lease")+", "+text+list(": ", waits),
				"kubectl -n kube-system describe pod -l app.kubernetes.io/name="+process+
					"; the page /readyz of a pod says why it doesn't lead (docs/runbook.md, AlicloudNotReady)")
		case !known:
			a.add("the Lease of "+process+" is held by "+leader+", which is no pod of this installation: the pods here stand by",
				"wait for 15 s, if it was a pod here until just now; else end it: another installation, or a process that somebody has started")
			fallthrough
		default:
			text = leader + " leads, renewed " + since + " ago; " + text + list(": ", waits)
		}
		a.Lines = append(a.Lines, Line{process, text})
	}
}

// leader is the pod that leads. If there is none, since says for how long nobody has renewed.
func (f Facts) leader(process string) (pod, since string) {
	lease := f.Leases[process]
	if lease == nil || deref(lease.Spec.HolderIdentity) == "" || lease.Spec.RenewTime == nil {
		return "", ""
	}
	holder, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	age := f.Now.Sub(lease.Spec.RenewTime.Time)
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil && age > time.Duration(*seconds)*time.Second {
		return "", holder + " has not renewed its Lease for " + short(age)
	}
	return holder, short(age)
}
