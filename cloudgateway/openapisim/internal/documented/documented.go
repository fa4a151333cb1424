// Package documented knows what the products document, whether it is simulated or not: the names of all actions, and the parameters of
// those that the controllers, and other tools that do their work, can be expected to call.
package documented

import (
	_ "embed" // for the names
	"slices"
	"strings"
	"sync"
)

//go:embed actions.txt
var names string

//go:embed params.txt
var params string

// Actions are those of a product, sorted; nil for an unknown product.
func Actions(product string) []string {
	for line := range strings.Lines(names) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == product {
			return slices.Sorted(slices.Values(fields[1:]))
		}
	}
	return nil
}

// Action is an action with its parameters.
type Action struct {
	Product, Name string
	Params        []string // without the members of repeated ones, as in api.Param
}

// Described are the actions whose parameters are known. The caller must not change them.
var Described = sync.OnceValue(func() []Action { //nolint:gochecknoglobals // A constant.
	var out []Action
	for line := range strings.Lines(params) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] == "#" {
			continue
		}
		a := Action{Product: fields[0], Name: fields[1]}
		for _, p := range fields[2:] {
			if name := paramName(p); !slices.Contains(a.Params, name) {
				a.Params = append(a.Params, name)
			}
		}
		out = append(out, a)
	}
	return out
})

// Params are the parameters of an action; nil if they are not known.
func Params(product, action string) []string {
	for _, a := range Described() {
		if a.Product == product && a.Name == action {
			return a.Params
		}
	}
	return nil
}

// paramName cuts what belongs to the form of a parameter off its name: "Tag.N{Key,Value}!" and "Filter.N.Key" are Tag and Filter.
func paramName(documented string) string {
	name, _, _ := strings.Cut(strings.TrimSuffix(documented, "!"), "{")
	if list, rest, ok := strings.Cut(name, ".N"); ok && (rest == "" || rest[0] == '.') {
		return list
	}
	return name
}
