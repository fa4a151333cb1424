package front

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

var (
	structure = regexp.MustCompile(`(?ms)^type (\w+) struct \{\n(.*?)^\}`)
	member    = regexp.MustCompile("(?m)^\\s+(\\w+)\\s+(\\S+)\\s+`json:")
	secret    = regexp.MustCompile(`(?i)(psk|passwd|password|secret|secretdata|privatekey(body|data)?|userdata|token|clientkey|plaintext|` +
		`authkey|kubeconfig|vncurl|clientconfig)$`)
)

// harmless are members of answers that are called like a secret and are none.
func harmless() map[string][]string {
	return map[string][]string{
		"NextToken": nil, "ExistPrivateKey": nil, "ExportablePrivateKey": nil, "AllowUserToChangePassword": nil, // they say whether
		"ImportToken": nil, // without the key that belongs to it, it is worth nothing
		// It ends the wait of an instance, by an action that a role has to allow.
		"LifecycleActionToken": {"ess:DescribeLifecycleActions"},
		"AccessToken":          nil,                    // of attachments of disks and interfaces: not in the documents, and never filled
		"AccessKeySecret":      {"ram:ListAccessKeys"}, // likewise: only CreateAccessKey gives it
	}
}

// TestWhatGivesKeysIsNamed: every action of the SDK whose answer has a secret has to be named by a role, whatever it is called.
func TestWhatGivesKeysIsNamed(t *testing.T) {
	t.Parallel()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aliyun/alibaba-cloud-sdk-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	f := &Front{named: alone()}
	found := 0
	for _, product := range openapi.Shared() {
		if product == openapi.STS {
			continue // Of it GetCallerIdentity is passed on only.
		}
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "services", string(product), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("the SDK has no files of %s: %v", product, err)
		}
		all := map[string][][]string{} // the members of each struct, and their types
		for _, file := range files {
			for _, s := range structure.FindAllStringSubmatch(string(must(os.ReadFile(file))), -1) {
				all[s[1]] = member.FindAllStringSubmatch(s[2], -1)
			}
		}
		for name := range all {
			action, answer := strings.CutSuffix(name, "Response")
			if !answer {
				continue
			}
			full := string(product) + ":" + action
			for _, at := range secretsIn(all, name, map[string]bool{}) {
				if known, ok := harmless()[at]; ok && (known == nil || slices.Contains(known, full)) {
					continue
				}
				found++
				if !f.isAlone(full) {
					t.Errorf("%s answers with %s, and a pattern stands for it", full, at)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d members are secrets: the test shows nothing", found)
	}
}

// TestWhatIsYoungerGivesKeys: these are not in the SDK. The first two answer with an ECI's environment and passwords as YAML, the last
// one with whatever a component was set up with.
func TestWhatIsYoungerGivesKeys(t *testing.T) {
	t.Parallel()
	f := &Front{named: alone()}
	for _, name := range []string{
		"ess:DescribeEciScalingConfigurationDetail", "ess:DescribeScalingGroupDetail", "cs:GetClusterAddonInstance",
	} {
		product, action, _ := strings.Cut(name, ":")
		if got := f.names(openapi.Product(product), action); len(got) != 1 || !f.minds(name) {
			t.Errorf("%s is allowed by %v", name, got)
		}
	}
}

// secretsIn are the members of a struct, and of the structs in it, that are called like a secret.
func secretsIn(all map[string][][]string, name string, seen map[string]bool) (secrets []string) {
	if seen[name] {
		return nil
	}
	seen[name] = true
	for _, m := range all[name] {
		kind := strings.TrimLeft(m[2], "*[]")
		if _, nested := all[kind]; nested {
			secrets = append(secrets, secretsIn(all, kind, seen)...)
		} else if secret.MatchString(m[1]) {
			secrets = append(secrets, m[1])
		}
	}
	return secrets
}

// TestFormerNamesOfVPC: a role that has all of ECS by a pattern does not change what is VPC's by the name that ECS once had for it.
func TestFormerNamesOfVPC(t *testing.T) {
	t.Parallel()
	f := &Front{named: alone()}
	for action, alone := range map[string]bool{
		"ReleaseEipAddress": true, "releaseEIPAddress": true,
		"ModifyEipAddressAttribute": true, "DeleteRouteEntry": true, "DeleteVSwitch": true,
		"CreateVpc": true, "ModifyVpcAttribute": true, "DeleteVirtualBorderRouter": true, "ModifyBandwidthPackageSpec": true,
		"DescribeVSwitches": false, "DescribeEipAddresses": false, // it reads
		"ModifyInstanceVpcAttribute": false, "AttachClassicLinkVpc": false, "ConvertNatPublicIpToEip": false, // of instances
		"AssignPrivateIpAddresses": false, "AllocatePublicIpAddress": false, "CreateNetworkInterface": false,
	} {
		if got := f.names(openapi.ECS, action); len(got) == 1 != alone {
			t.Errorf("ecs:%s is allowed by %v", action, got)
		}
		if got := f.names(openapi.SLB, action); len(got) == 1 {
			t.Errorf("slb:%s is allowed by %v", action, got)
		}
	}
}
