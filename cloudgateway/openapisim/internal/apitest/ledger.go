package apitest

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// ledger is what the tests of this binary saw: the codes of each action, "" for success.
//
//nolint:gochecknoglobals // all tests of a binary write to it, and TestMain reads it when they are through
var ledger = struct {
	sync.Mutex
	codes map[string]map[string]bool
}{codes: map[string]map[string]bool{}}

// Saw records that a test got an answer of an action.
func Saw(action, code string) {
	ledger.Lock()
	defer ledger.Unlock()
	if ledger.codes[action] == nil {
		ledger.codes[action] = map[string]bool{}
	}
	ledger.codes[action][code] = true
}

// Main runs the tests of a product and fails if they did not provoke every answer that its tables promise: the success of
// each action and each of its codes. A run of some tests only is not judged.
func Main(m *testing.M, product api.Product) {
	code := m.Run()
	if code == 0 && whole() {
		if missing := unseen(product, ledger.codes); len(missing) > 0 {
			fmt.Fprintf(os.Stderr, "%d answers of %s are provoked by no test:\n", len(missing), product.Name)
			for _, line := range missing {
				fmt.Fprintln(os.Stderr, "  "+line)
			}
			code = 1
		}
	}
	os.Exit(code)
}

// whole reports whether all tests ran.
func whole() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.bench", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return !testing.Short()
}

// unseen lists the answers of a product that are not in the codes seen.
func unseen(product api.Product, seen map[string]map[string]bool) []string {
	var missing []string
	for _, a := range product.Actions {
		if !seen[a.Name][""] {
			missing = append(missing, a.Name+" succeeds")
		}
		for _, code := range a.AllCodes() {
			if !seen[a.Name][code] {
				missing = append(missing, a.Name+" "+code)
			}
		}
		// The other way round: the table has to name what the handler answers.
		for _, code := range slices.Sorted(maps.Keys(seen[a.Name])) {
			if code != "" && !slices.Contains(a.AllCodes(), code) && !common(product, code) {
				missing = append(missing, a.Name+" "+code+", which its table does not name")
			}
		}
	}
	return missing
}

// common reports whether a code is that of any action with a malformed parameter.
func common(product api.Product, code string) bool {
	return code == "MissingParameter" || code == cmp.Or(product.Malformed, "InvalidParameter")
}
