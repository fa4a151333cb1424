package cloudconfig_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/services/config/cloudconfig"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       cloudconfig.CloudConfig
		warnings   []string
		wantErr    []string
	}{
		{name: "empty", text: "{}"},
		{name: "JSON, as the existing CCM's sample has it", text: `{"Global": {
			"uid": "123", "accessKeyID": "bXlJZA==", "accessKeySecret": "bXlTZWNyZXQK", "region": "cn-hangzhou",
			"vswitchid": "vsw-a", "clusterID": "c-1", "routeTableIDs": " vtb-1,vtb-2 ", "serviceBackendType": "eni",
			"disablePublicSLB": true, "serviceMaxConcurrentReconciles": 5, "kubernetesClusterTag": "k"}}`,
			want: cloudconfig.CloudConfig{
				AccessKeyID: "myId", AccessKeySecret: "mySecret", Region: "cn-hangzhou", VSwitchIDs: []string{"vsw-a"},
				ClusterID: "c-1", RouteTableIDs: []string{"vtb-1", "vtb-2"}, ServiceBackendType: "eni", DisablePublicSLB: true,
				ServiceMaxConcurrentReconciles: 5, KubernetesClusterTag: "k",
			}, warnings: []string{"Global.uid: has no effect; the account is that of the gateway's credentials"}},
		{name: "YAML, other case", text: "global:\n  REGION: cn-beijing\n  VpcId: vpc-1\n  resourceGroupid: ' rg-1 '\n",
			want: cloudconfig.CloudConfig{Region: "cn-beijing", VpcID: "vpc-1", ResourceGroupID: "rg-1"}},
		{name: "B-20: all forms of vSwitches", text: `{"Global": {"vswitchid": "cn-hangzhou-b:vsw-1, :vsw-2,vsw-3,"}}`,
			want: cloudconfig.CloudConfig{VSwitchIDs: []string{"vsw-1", "vsw-2", "vsw-3"}}},
		{name: "feature gates", text: `{"Global": {"featureGates": "IPv6DualStack=true, EndpointSlice=False"}}`,
			want: cloudconfig.CloudConfig{FeatureGates: map[string]bool{"IPv6DualStack": true, "EndpointSlice": false}}},
		{name: "warnings",
			text: `{"Local": {}, "Global": {"privateZoneId": "x", "nodeMaxConcurrentReconciles": 1, "colour": "red"}}`, warnings: []string{
				"Global.colour: unknown setting, ignored",
				"Global.nodeMaxConcurrentReconciles: has no effect; use workers of the nodecontroller",
				"Global.privateZoneId: has no effect; PrivateZone is not supported",
				"Local: unknown section, ignored; settings belong under Global",
			}},
		{name: "all errors at once", text: `{"Global": {"accessKeySecret": "!!hush!!", "vswitchid": "a:b:c,zone:", "routeTableIDs": "rtb-1",
			"disablePublicSLB": "maybe", "region": 5, "serviceMaxConcurrentReconciles": -1, "featureGates": "A"}}`, wantErr: []string{
			"Global.accessKeySecret: want base64",
			`Global.vswitchid: "a:b:c" is not of the form "zone:vsw-id" or "vsw-id"`,
			`Global.vswitchid: "zone:" is not of the form`,
			`Global.routeTableIDs: "rtb-1" is not a route table id`,
			`Global.disablePublicSLB: got "maybe", want true or false`,
			"Global.region: want a string",
			"Global.serviceMaxConcurrentReconciles: got -1, want a number of 0 or more",
			`Global.featureGates: "A" is not of the form "Name=true"`,
		}},
		{name: "global is no object", text: `{"Global": 3}`, wantErr: []string{"Global: want an object"}},
		{name: "no object", text: `hush: hush: hush`, wantErr: []string{"not a valid YAML or JSON object"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, warnings, err := cloudconfig.Parse([]byte(tc.text))
			if len(tc.wantErr) > 0 {
				if err == nil {
					t.Fatal("no error")
				}
				for _, part := range tc.wantErr {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("error lacks %q:\n%v", part, err)
					}
				}
				if strings.Contains(err.Error(), "hush") {
					t.Errorf("error contains a secret: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("Parse (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.warnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"Global": {"vswitchid": ":vsw-1", "accessKeyID": "eA=="}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		cfg, _, err := cloudconfig.Parse(text)
		if (cfg == nil) != (err != nil) {
			t.Errorf("Parse = %v, %v", cfg, err)
		}
	})
}

func TestLoad(t *testing.T) {
	t.Parallel()
	if cfg, warnings, err := cloudconfig.Load(""); err != nil || warnings != nil || cmp.Diff(&cloudconfig.CloudConfig{}, cfg) != "" {
		t.Errorf("no file gives %+v, %v, %v", cfg, warnings, err)
	}
	path := filepath.Join(t.TempDir(), "cloud-config.conf")
	if _, _, err := cloudconfig.Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a missing file gives %v", err)
	}
	if err := os.WriteFile(path, []byte(`{"Global": {"accessKeySecret": "c2VjcmV0"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := cloudconfig.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if shown := fmt.Sprintf("%v %+v %#v", *cfg, *cfg, *cfg); strings.Contains(shown, "secret") {
		t.Errorf("a printed configuration contains the secret: %s", shown)
	}
}
