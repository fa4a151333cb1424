package dataplane

// standing is what health checks know of a server.
type standing int

const (
	unknown standing = iota // not checked often enough
	good
	bad
)

// verdict is the state of a health check: the standing, and the streak of results that speak against it.
type verdict struct {
	standing  standing
	successes int
	failures  int
}

// next returns the verdict after one more check: rise successes in a row make a server good, fall failures in a row bad.
func (v verdict) next(ok bool, rise, fall int) verdict {
	if ok {
		v.successes, v.failures = min(v.successes+1, rise), 0
	} else {
		v.successes, v.failures = 0, min(v.failures+1, fall)
	}
	switch {
	case v.successes >= rise:
		v.standing = good
	case v.failures >= fall:
		v.standing = bad
	}
	return v
}

// standings looks up what is known of a probe.
type standings func(probe) standing

// of returns the standing of a target. Without a health check everything that can be reached is good.
func (s standings) of(t target) standing {
	switch {
	case t.down != "":
		return bad
	case t.probe == probe{}:
		return good
	}
	return s(t.probe)
}

// report names the health of a target as DescribeHealthStatus does.
func (s standings) report(t target) string {
	if t.probe == (probe{}) {
		return unavailable
	}
	return map[standing]string{unknown: unavailable, good: normal, bad: abnormal}[s.of(t)]
}

// usable returns the targets that take new connections; those that stand by only if no other does.
func (s standings) usable(targets []target) []target {
	if out := s.serving(targets, false); len(out) > 0 {
		return out
	}
	return s.serving(targets, true)
}

// serving returns the good ones with a weight. Where none is known to be good, those that are not checked yet have a try, so that
// a new listener serves at once.
func (s standings) serving(targets []target, standby bool) []target {
	var out, untried []target
	for _, t := range targets {
		if t.weight <= 0 || t.standby != standby {
			continue
		}
		switch s.of(t) {
		case good:
			out = append(out, t)
		case unknown:
			untried = append(untried, t)
		case bad: // nothing is sent there, even if no other server is left
		}
	}
	if len(out) == 0 {
		return untried
	}
	return out
}
