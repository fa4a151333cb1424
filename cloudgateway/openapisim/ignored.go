package openapisim

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/documented"
)

// action is an action with what is known of its parameters.
type action struct {
	*api.Action
	// names are those of its parameters in lower case: the ones that are honoured here, and the ones that the cloud documents. Few actions
	// of a simulator are ever called, so they are made for the first call.
	names func() (honoured, documented map[string]bool)
}

func newAction(product string, a *api.Action) *action {
	return &action{Action: a, names: sync.OnceValues(func() (here, there map[string]bool) {
		here, there = map[string]bool{}, map[string]bool{}
		for _, p := range a.Params {
			here[strings.ToLower(p.Name)] = true
		}
		for _, name := range documented.Params(product, a.Name) {
			there[strings.ToLower(name)] = true
		}
		return here, there
	})}
}

// ignored returns the parameters that were sent, that the cloud documents, and that come to nothing here, sorted.
func (a *action) ignored(sent map[string]string) []string {
	honoured, documented := a.names()
	var out []string
	for name, value := range sent {
		if value == "" {
			continue
		}
		if lower := strings.ToLower(name); !within(honoured, lower, false) && within(documented, lower, true) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// within reports whether a parameter is among some: by its name, as an item of a list, or, where parts say so, as a part of a structure.
func within(names map[string]bool, name string, parts bool) bool {
	for !names[name] {
		at := strings.LastIndexByte(name, '.')
		if at < 0 {
			return false
		}
		_, err := strconv.Atoi(name[at+1:])
		if name = name[:at]; err != nil && !parts && !strings.Contains(name, ".") { // SystemDisk.Size is not SystemDisk
			return false
		}
	}
	return true
}

// notSimulated is the answer to a call with a parameter that would come to nothing.
func notSimulated(a *action, ignored []string) *api.Error {
	return &api.Error{
		Status: http.StatusBadRequest, Code: "NotSimulated.Parameter",
		Message: "openapisim does not simulate " + strings.Join(ignored, ", ") + " of " + a.Name +
			" and is set to be strict; otherwise it would carry the call out without them.",
	}
}

// creates reports whether every successful call of an action makes something.
func (a *action) creates() bool {
	return slices.ContainsFunc([]string{"Create", "Run", "Allocate", "Upload"},
		func(verb string) bool { return strings.HasPrefix(a.Name, verb) })
}
