package dataplane

import (
	"net"
	"strings"
)

// route returns the pool for a request: that of the rule that fits best, else the listener's. A domain counts for more than a
// path, an exact domain for more than a wildcard, and a longer path for more than a shorter one.
func (l *listener) route(host, path string) *pool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	best, highest := &l.pool, 0
	for i := range l.rules {
		if score := l.rules[i].score(strings.ToLower(host), path); score > highest {
			best, highest = &l.rules[i].pool, score
		}
	}
	return best
}

// score is zero for a rule that doesn't take the request.
func (r *rule) score(host, path string) int {
	const exact, wildcard = 1 << 20, 1 << 19 // more than any path
	score := 1 + len(r.url)
	if r.url != "" && !under(path, r.url) {
		return 0
	}
	switch {
	case r.domain == "":
		return score
	case strings.EqualFold(r.domain, host):
		return score + exact
	case matchWildcard(r.domain, host):
		return score + wildcard
	}
	return 0
}

// under reports whether a path is a prefix or lies below it.
func under(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || strings.HasSuffix(prefix, "/") || rest[0] == '/')
}

// matchWildcard reports whether *.example.com covers a host; the star stands for one or more labels.
func matchWildcard(pattern, host string) bool {
	suffix, ok := strings.CutPrefix(strings.ToLower(pattern), "*")
	return ok && strings.HasPrefix(suffix, ".") && strings.HasSuffix(host, suffix) && len(host) > len(suffix)
}
