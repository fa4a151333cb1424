package imds

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/keys"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

type fixture struct {
	*Service
	cloud *state.Cloud
	store *keys.Store
	now   time.Time
}

func newFixture(v2Only bool) *fixture {
	f := &fixture{
		cloud: state.New("cn-hangzhou", "1000"), store: keys.NewStore(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	f.cloud.Vpcs["vpc-1"] = &state.Vpc{ID: "vpc-1", CidrBlock: "192.168.0.0/16"}
	f.cloud.VSwitches["vsw-1"] = &state.VSwitch{ID: "vsw-1", VpcID: "vpc-1", ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.0.0/24"}
	f.Service = New(Config{
		Region: "cn-hangzhou", Account: "1000", Role: "Worker", SessionDuration: time.Hour, V2Only: v2Only,
		Now: func() time.Time { return f.now }, Keys: f.store, View: func(view func(*state.Cloud)) { view(f.cloud) },
	})
	return f
}

func (f *fixture) ask(method, path string, headers ...string) (int, string) {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestItems(t *testing.T) {
	t.Parallel()
	f := newFixture(false)
	check := func(path, want string) {
		t.Helper()
		if status, got := f.ask(http.MethodGet, "/latest/meta-data/"+path); status != 200 || got != want {
			t.Errorf("%s: %d %q, want %q", path, status, got, want)
		}
	}
	check("region-id", "cn-hangzhou")
	check("zone-id", "cn-hangzhou-h") // of the first vSwitch while there is no instance
	check("vpc-id", "vpc-1")
	check("vswitch-id", "vsw-1")
	check("vpc-cidr-block", "192.168.0.0/16")
	if status, _ := f.ask(http.MethodGet, "/latest/meta-data/instance-id"); status != 404 {
		t.Errorf("instance-id without an instance: %d", status)
	}
	f.cloud.Instances["i-2"] = &state.Instance{ID: "i-2"}
	f.cloud.Instances["i-1"] = &state.Instance{
		ID: "i-1", HostName: "host", ZoneID: "cn-hangzhou-i", VpcID: "vpc-1", VSwitchID: "vsw-1",
		PrivateIPs: []string{"192.168.0.7"}, InstanceType: "ecs.g7.large",
	}
	f.cloud.Interfaces["eni-1"] = &state.NetworkInterface{ID: "eni-1", Type: "Primary", InstanceID: "i-1", MacAddress: "00:16:3e:00:00:01"}
	check("instance-id", "i-1")
	check("zone-id", "cn-hangzhou-i")
	check("hostname", "host")
	check("private-ipv4", "192.168.0.7")
	check("mac", "00:16:3e:00:00:01")
	check("instance/instance-type", "ecs.g7.large")
	check("ram/security-credentials", "Worker")
	check("ram/security-credentials/", "Worker")
	for _, path := range []string{"/latest/meta-data/none", "/latest/meta-data/ram/security-credentials/Other", "/latest/user-data"} {
		if status, _ := f.ask(http.MethodGet, path); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
	if _, list := f.ask(http.MethodGet, "/latest/meta-data/"); !strings.Contains(list, "region-id\n") || !strings.HasSuffix(list, "ram/") {
		t.Errorf("list %q", list)
	}
	if _, document := f.ask(http.MethodGet, "/latest/dynamic/instance-identity/document"); !strings.Contains(document, `"instance-id":"i-1"`) {
		t.Errorf("identity %s", document)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for _, v2Only := range []bool{false, true} {
		f := newFixture(v2Only)
		region := func(token string) int {
			status, _ := f.ask(http.MethodGet, "/latest/meta-data/region-id", "X-aliyun-ecs-metadata-token", token)
			return status
		}
		if want := map[bool]int{false: 200, true: 403}[v2Only]; region("") != want {
			t.Errorf("v2 only %v: without a token: %d", v2Only, region(""))
		}
		if region("made up") != 403 {
			t.Error("a token that was made up is accepted")
		}
		for _, ttl := range []string{"", "0", "21601", "x"} {
			if status, _ := f.ask(http.MethodPut, "/latest/api/token", "X-aliyun-ecs-metadata-token-ttl-seconds", ttl); status != 400 {
				t.Errorf("life %q: %d", ttl, status)
			}
		}
		status, token := f.ask(http.MethodPut, "/latest/api/token", "X-aliyun-ecs-metadata-token-ttl-seconds", "60")
		if status != 200 || region(token) != 200 {
			t.Errorf("token: %d, used: %d", status, region(token))
		}
		f.now = f.now.Add(time.Minute)
		if region(token) != 403 {
			t.Error("an expired token is accepted")
		}
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	f := newFixture(false)
	get := func() map[string]string {
		t.Helper()
		var out map[string]string
		_, body := f.ask(http.MethodGet, "/latest/meta-data/ram/security-credentials/Worker")
		if err := json.Unmarshal([]byte(body), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := get()
	key, ok := f.store.Lookup(first["AccessKeyId"])
	if !ok || key.Secret != first["AccessKeySecret"] || key.Session.Token != first["SecurityToken"] {
		t.Errorf("the key is not known: %v", first)
	}
	if _, body := f.ask(http.MethodGet, "/latest/meta-data/Ram/security-credentials/Worker"); !strings.Contains(body, first["AccessKeyId"]) {
		t.Errorf("as aliyungo asks for them: %s", body)
	}
	if first["Code"] != "Success" || first["Expiration"] != "2026-01-01T01:00:00Z" || first["LastUpdated"] != "2026-01-01T00:00:00Z" {
		t.Errorf("credentials %v", first)
	}
	f.now = f.now.Add(30 * time.Minute)
	if get()["AccessKeyId"] != first["AccessKeyId"] {
		t.Error("changed in the first half of its life")
	}
	f.now = f.now.Add(time.Second)
	if second := get(); second["AccessKeyId"] == first["AccessKeyId"] || second["Expiration"] != "2026-01-01T01:30:01Z" {
		t.Errorf("second credentials %v", second)
	}
}
