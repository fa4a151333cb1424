package api

import (
	"net/url"
	"strings"
)

// At puts an action in ROA style.
func At(method, path string, a Action) Action {
	a.Method, a.Path = method, path
	return a
}

// Match reports whether a request with a method and a path, as it was sent, is one for an action in ROA style, and what the path
// holds of its parameters.
func (a *Action) Match(method, path string) (params map[string]string, ok bool) {
	want, got := strings.Split(a.Path, "/"), strings.Split(path, "/")
	if a.Path == "" || a.Method != method || len(want) != len(got) {
		return nil, false
	}
	params = map[string]string{}
	for i, part := range want {
		name, isParam := strings.CutPrefix(part, "{")
		switch {
		case isParam && got[i] != "":
			value, err := url.PathUnescape(got[i])
			if err != nil {
				return nil, false
			}
			params[strings.TrimSuffix(name, "}")] = value
		case part != got[i]:
			return nil, false
		}
	}
	return params, true
}
