package server

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// answered is a member of an answer in the SDK.
	answered = regexp.MustCompile("(?m)^\\s+\\w+\\s+(\\S+)\\s+`json:\"([^\"]+)\"")
	// calledHere is the name of an action, and readHere that of a member of an answer, in the source of a resource.
	calledHere = regexp.MustCompile(`"((?:Describe|List|Get|Create|Add|Set|Modify|Allocate|Associate|Upload|Assign)\w+)"`)
	readHere   = regexp.MustCompile(`"(\w+)":\s+(?:&|cloud\.(?:Fields|Via|Texts|TagsInto|Required|Each|One)\b|moment)`)
)

// newerMembers are those that the cloud's documents have, and that its SDK of version 1 has not followed.
func newerMembers() map[string][]string {
	return map[string][]string{
		"cas/certificate": {"CertIdentifier", "NotAfter", "NotBefore"},
		"nlb/listener": {
			"HealthCheckEnabled", "Ppv2PrivateLinkEpIdEnabled", "Ppv2PrivateLinkEpsIdEnabled", "Ppv2VpcIdEnabled",
			"ProxyProtocolV2Config",
		},
		"nlb/loadbalancer": {"Cps"},
		"nlb/servergroup":  {"IpVersionAffinityMode"},
	}
}

// TestAnswersAreReadByTheCloudsNames compares the names by which each resource reads answers with those in the answers of
// the cloud's SDK. A name that is misspelt would leave its field empty, and the simulator was written by those who wrote
// the gateway.
func TestAnswersAreReadByTheCloudsNames(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "*", "*", "service.go"))
	if err != nil || len(files) == 0 {
		t.Fatal("no resources", err)
	}
	products := map[string]sdk{}
	for _, file := range files {
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../")
		product, _, _ := strings.Cut(dir, "/")
		text := source{t, nil}.all("cloudgateway/internal/" + dir + "/*.go")
		read := readHere.FindAllStringSubmatch(text, -1)
		if len(read) == 0 {
			continue
		}
		if products[product] == nil {
			products[product] = readSDK(t, product, answered)
		}
		actions := calledHere.FindAllStringSubmatch(text, -1)
		if dir == "slb/certificate" { // It makes their names of parts.
			actions = append(actions, []string{"", "DescribeServerCertificates"}, []string{"", "DescribeCACertificates"})
		}
		names := map[string]bool{}
		for _, action := range actions {
			products[product].members(action[1]+"Response", names, map[string]bool{})
		}
		for _, name := range read {
			if !names[name[1]] && !slices.Contains(newerMembers()[dir], name[1]) {
				t.Errorf("cloudgateway/internal/%s/codec.go: %q is in no answer of the SDK to an action that is named there", dir, name[1])
			}
		}
	}
}

// members adds the names of the members of a struct, and of those inside of it.
func (s sdk) members(structure string, names, seen map[string]bool) {
	if seen[structure] {
		return
	}
	seen[structure] = true
	for name, kind := range s[structure] {
		names[name] = true
		s.members(kind, names, seen)
	}
}
