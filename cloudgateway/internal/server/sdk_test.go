package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
)

// sent are the parameters of calls to the cloud, by product and action.
type sent map[string]map[string]bool

func (s sent) add(calls []journal.Call) {
	for _, c := range calls {
		name := c.Product + "/" + c.Action
		if s[name] == nil {
			s[name] = map[string]bool{}
		}
		for param := range c.Params {
			s[name][param] = true
		}
	}
}

// check compares what was sent with the requests of the cloud's SDK, which the cloud generates from its own
// descriptions: an action or a parameter that it doesn't have would be ignored by the cloud, or refused. The names in
// the simulator were written by those who wrote the gateway.
func (s sent) check(t *testing.T) {
	t.Helper()
	products := map[string]sdk{}
	for name, params := range s {
		product, action, _ := strings.Cut(name, "/")
		if products[product] == nil {
			products[product] = readSDK(t, product, member)
		}
		if newer(name) {
			continue
		}
		if products[product][action+"Request"] == nil {
			t.Errorf("%s: the SDK doesn't have this action", name)
			continue
		}
		for param := range params {
			if !newer(name+" "+param) && !slices.Contains(common(), param) && !products[product].has(action+"Request", param) {
				t.Errorf("%s: the SDK doesn't have the parameter %s", name, param)
			}
		}
	}
}

// newer are actions and parameters that the cloud's documents have, and that its SDK of version 1 has not followed.
func newer(name string) bool {
	return slices.Contains([]string{
		"nlb/ListAsynJobs", "vpc/AllocateEipAddress Tag.1.Key", "vpc/AllocateEipAddress Tag.1.Value",
	}, name)
}

// common are the parameters of every call.
func common() []string {
	return []string{
		"AccessKeyId", "Action", "Format", "RegionId", "SignatureMethod", "SignatureNonce", "SignatureType",
		"SignatureVersion", "Timestamp", "Version",
	}
}

// sdk are the fields of the structs of a product, by the struct and the name of the parameter: their types.
type sdk map[string]map[string]string

var (
	structure = regexp.MustCompile(`(?ms)^type (\w+) struct \{\n(.*?)^\}`)
	member    = regexp.MustCompile("(?m)^\\s+\\w+\\s+(\\S+)\\s+`.*?name:\"([^\"]+)\"")
)

func readSDK(t *testing.T, product string, member *regexp.Regexp) sdk {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aliyun/alibaba-cloud-sdk-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "services", product, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of the SDK for %s: %v", product, err)
	}
	all := sdk{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range structure.FindAllStringSubmatch(string(text), -1) {
			all[found[1]] = map[string]string{}
			for _, field := range member.FindAllStringSubmatch(found[2], -1) {
				all[found[1]][field[2]] = strings.TrimLeft(field[1], "*[]")
			}
		}
	}
	return all
}

// has reports whether a struct has a parameter, e.g. "Permissions.1.Policy": a member of the items of a list.
func (s sdk) has(structure, param string) bool {
	if _, ok := s[structure][param]; ok {
		return true
	}
	name, rest, nested := strings.Cut(param, ".")
	kind, ok := s[structure][name]
	if !ok || !nested {
		return ok
	}
	number, deeper, more := strings.Cut(rest, ".")
	switch {
	case strings.Trim(number, "0123456789") != "": // A member of a struct.
		return s.has(kind, rest)
	case more:
		return s.has(kind, deeper)
	}
	return true
}
