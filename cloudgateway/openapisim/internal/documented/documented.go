// Package documented knows the names of the actions that the products document, whether they are simulated or not.
package documented

import (
	_ "embed" // for the names
	"slices"
	"strings"
)

//go:embed actions.txt
var text string

// Actions are those of a product, sorted; nil for an unknown product.
func Actions(product string) []string {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == product {
			return slices.Sorted(slices.Values(fields[1:]))
		}
	}
	return nil
}
