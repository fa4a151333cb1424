package clienttoken

import (
	"strconv"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// call is a call with a token; SignatureNonce and Timestamp differ in every call.
func call(cloud *state.Cloud, now time.Time, token, name string) *api.Context {
	return &api.Context{State: cloud, Now: now, Params: api.NewParams(map[string]string{
		"ClientToken": token, "Name": name, "SignatureNonce": now.String(), "Timestamp": now.String(),
	})}
}

func TestRecall(t *testing.T) {
	t.Parallel()
	cloud, begin := state.New("r", "a"), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	Remember(call(cloud, begin, "t", "n"), "slb/Create", "lb-1")
	Remember(call(cloud, begin, "", "n"), "slb/Create", "lb-2")
	tests := []struct {
		name, operation, token, sent string
		after                        time.Duration
		want, code                   string
	}{
		{"repeated", "slb/Create", "t", "n", time.Second, "lb-1", ""},
		{"other parameters", "slb/Create", "t", "m", time.Second, "", "IdempotentParameterMismatch"},
		{"other operation", "vpc/Create", "t", "m", time.Second, "", ""},
		{"other token", "slb/Create", "u", "n", time.Second, "", ""},
		{"no token", "slb/Create", "", "n", time.Second, "", ""},
		{"last moment", "slb/Create", "t", "n", lifetime, "lb-1", ""},
		{"too late", "slb/Create", "t", "n", lifetime + 1, "", ""},
	}
	for _, tt := range tests {
		id, err := Recall(call(cloud, begin.Add(tt.after), tt.token, tt.sent), tt.operation)
		code := ""
		if err != nil {
			code = err.Code
		}
		if id != tt.want || code != tt.code {
			t.Errorf("%s: %q, code %q, want %q, code %q", tt.name, id, code, tt.want, tt.code)
		}
	}
}

// Tokens that nobody can use any more do not pile up.
func TestForgets(t *testing.T) {
	t.Parallel()
	cloud, now := state.New("r", "a"), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range 10 * forgetEvery {
		now = now.Add(lifetime / 100)
		Remember(call(cloud, now, strconv.Itoa(n), "n"), "slb/Create", "lb-1")
	}
	if n := len(cloud.Tokens); n >= forgetEvery {
		t.Errorf("%d tokens are kept", n)
	}
	if id, err := Recall(call(cloud, now, strconv.Itoa(10*forgetEvery-100), "n"), "slb/Create"); id != "lb-1" || err != nil {
		t.Errorf("a token of this day is forgotten: %q, %v", id, err)
	}
}
