package flow

const (
	fall        = 0.9       // of the calls that were granted when the cloud refused one: what goes afterwards
	deepestFall = 0.5       // of the allowance, at once: others may have used up the limit for once
	bucketFall  = 0.85      // of the allowance of a bucket, which does not show how many calls it has granted
	firstStep   = 1.0 / 512 // of the limit, by which an allowance grows in a window
	nextStep    = 4         // times as much in the next
)

// allowance is how many calls of an action the gateway may send in a window. It is the cloud's limit as long as nobody else uses it.
//
// Others show when the cloud refuses a call although the gateway has sent less than the limit. Then the allowance falls to the
// gateway's share at once, and in further windows below what was granted in them. So it does if the limit is lower than documented. While
// calls wait and none is refused, it grows again, faster each time: so several gateways come to equal allowances, and one that was left
// alone has the whole limit again after a few windows.
type allowance struct {
	limit  float64 // as documented, or configured
	most   float64 // that may be found out to be allowed; at least the limit
	share  float64 // of the limit
	bucket bool    // that of the cloud, see Limit.isBucket
	calls  float64 // the allowance
	step   float64 // by which it grows next; 0 in the first window after a refusal
}

func newAllowance(limit Limit, share, upTo float64) allowance {
	calls := float64(limit.Calls)
	return allowance{limit: calls, most: calls * max(1, upTo), share: share * calls, bucket: limit.isBucket(), calls: calls}
}

// even reports whether calls have to go evenly: others use the limit too, or the gateway tries to send more than the limit.
func (a *allowance) even() bool { return a.calls != a.limit }

// refused learns from a refusal, after so many calls that were granted in the window.
func (a *allowance) refused(granted int) {
	switch {
	case a.calls == a.limit:
		a.calls = min(a.share, a.calls*fall)
	case a.bucket:
		a.calls *= bucketFall
	default:
		a.calls = min(max(float64(granted)*fall, a.calls*deepestFall), a.calls*fall)
	}
	a.calls, a.step = max(1, a.calls), 0
}

// waited reports that calls have waited in a window in which none was refused.
func (a *allowance) waited() {
	a.calls = min(a.most, a.calls+a.step)
	a.step = max(a.limit*firstStep, a.step*nextStep)
}
