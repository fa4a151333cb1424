package openapisim_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/nlb"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// twoZones is a seed with a VPC in two zones and instances i-1 to i-n.
func twoZones(instances int) *state.Cloud {
	c := &state.Cloud{
		Vpcs: map[string]*state.Vpc{"vpc-1": {CidrBlock: "192.168.0.0/16"}},
		VSwitches: map[string]*state.VSwitch{
			"vsw-1": {VpcID: "vpc-1", ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.0.0/20"},
			"vsw-2": {VpcID: "vpc-1", ZoneID: "cn-hangzhou-i", CidrBlock: "192.168.16.0/20"},
		},
		Instances: map[string]*state.Instance{},
	}
	for n := 1; n <= instances; n++ {
		ip := fmt.Sprintf("192.168.%d.%d", 1+n/200, 10+n%200)
		c.Instances[fmt.Sprintf("i-%d", n)] = &state.Instance{VSwitchID: "vsw-1", PrivateIPs: []string{ip}}
	}
	return c
}

func newNLBParams() []string {
	return []string{
		"AddressType", "Internet", "VpcId", "vpc-1", "ZoneMappings.1.ZoneId", "cn-hangzhou-h", "ZoneMappings.1.VSwitchId", "vsw-1",
		"ZoneMappings.2.ZoneId", "cn-hangzhou-i", "ZoneMappings.2.VSwitchId", "vsw-2",
	}
}

// signedV3 is a request of NLB as its current clients send it: parameters in the form, system parameters in signed headers.
func signedV3(action, nonce string, params map[string]string) *http.Request {
	form := url.Values{}
	for name, value := range params {
		form.Set(name, value)
	}
	body := form.Encode()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	hash := sha256.Sum256([]byte(body))
	headers := map[string]string{
		"content-type": "application/x-www-form-urlencoded", "x-acs-action": action, "x-acs-version": "2022-04-30",
		"x-acs-signature-nonce": nonce,
		"x-acs-date":            time.Now().UTC().Format("2006-01-02T15:04:05Z"), "x-acs-content-sha256": hex.EncodeToString(hash[:]),
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	headers["host"] = r.Host
	names := slices.Sorted(maps.Keys(headers))
	canonical := "POST\n/\n\n"
	for _, name := range names {
		canonical += name + ":" + headers[name] + "\n"
	}
	signed := strings.Join(names, ";")
	canonicalHash := sha256.Sum256([]byte(canonical + "\n" + signed + "\n" + headers["x-acs-content-sha256"]))
	mac := hmac.New(sha256.New, []byte(openapisim.DefaultAccessKeySecret))
	mac.Write([]byte("ACS3-HMAC-SHA256\n" + hex.EncodeToString(canonicalHash[:])))
	r.Header.Set("Authorization", "ACS3-HMAC-SHA256 Credential="+openapisim.DefaultAccessKeyID+",SignedHeaders="+signed+
		",Signature="+hex.EncodeToString(mac.Sum(nil)))
	return r
}

// callV3 calls without a network and returns the status and the answer.
func callV3(sim *openapisim.Simulator, action, nonce string, params map[string]string) (int, map[string]any) {
	w := httptest.NewRecorder()
	sim.Handler("nlb").ServeHTTP(w, signedV3(action, nonce, params))
	var answer map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &answer) // what is no answer has no members
	return w.Code, answer
}

// poller calls NLB and waits for jobs, while the clock moves.
type poller struct{ *client }

// job makes a write, and polls until its job has ended.
func (p poller) job(action string, params ...string) map[string]any {
	p.t.Helper()
	answer := p.must("nlb", action, params...)
	id := fmt.Sprint(answer["JobId"])
	for n := 0; p.must("nlb", "GetJobStatus", "JobId", id)["Status"] == "Processing"; n++ {
		if n > 100 {
			p.t.Fatalf("the job of %s does not end", action)
		}
		p.sim.Advance(300 * time.Millisecond)
	}
	if job := at(p.t, p.must("nlb", "ListAsynJobs", "JobIds.1", id), "Jobs", 0); at(p.t, job, "Status") != "Succeeded" {
		p.t.Fatalf("%s: %v", action, job)
	}
	return answer
}

// serversOf are the parameters of a call about some instances.
func serversOf(group string, from, to, port int, more ...string) []string {
	params := []string{"ServerGroupId", group}
	for n := from; n <= to; n++ {
		prefix := fmt.Sprintf("Servers.%d.", n-from+1)
		params = append(params, prefix+"ServerId", fmt.Sprintf("i-%d", n), prefix+"ServerType", "Ecs", prefix+"Port", strconv.Itoa(port))
		for i := 0; i < len(more); i += 2 {
			params = append(params, prefix+more[i], more[i+1])
		}
	}
	return params
}

// TestNLB takes a load balancer with two listeners and two groups of 400 servers from nothing to nothing, under the settings of
// the cloud and with its rate limits, by a client that polls jobs.
func TestNLB(t *testing.T) {
	t.Parallel()
	settings := api.DefaultSettings()
	sim := newCloud(t, openapisim.Config{Settings: &settings, Seed: twoZones(400)})
	sim.SetTime(time.Now())
	p := poller{newClient(t, sim)}
	id := p.job("CreateLoadBalancer", newNLBParams()...)["LoadbalancerId"].(string)
	if lb := p.must("nlb", "GetLoadBalancerAttribute", "LoadBalancerId", id); lb["LoadBalancerStatus"] != "Active" {
		t.Fatalf("it is %v", lb["LoadBalancerStatus"])
	}
	var groups, listeners []string
	for _, port := range []int{80, 443} {
		group := p.job("CreateServerGroup", "VpcId", "vpc-1", "ServerGroupName", "group")["ServerGroupId"].(string)
		p.job("AddServersToServerGroup", serversOf(group, 1, 200, port)...)
		p.job("AddServersToServerGroup", serversOf(group, 201, 400, port)...)
		listener := p.job("CreateListener", "LoadBalancerId", id, "ListenerProtocol", "TCP", "ListenerPort",
			strconv.Itoa(port), "ServerGroupId", group)
		groups, listeners = append(groups, group), append(listeners, listener["ListenerId"].(string))
	}
	if _, code := p.call("nlb", "AddServersToServerGroup", serversOf(groups[0], 1, 1, 81)...); code != "QuotaExceeded.QuotaInsufficient" {
		t.Errorf("a server too many: %q", code)
	}
	p.job("UpdateServerGroupServersAttribute", serversOf(groups[0], 1, 200, 80, "Weight", "50")...)
	p.job("RemoveServersFromServerGroup", serversOf(groups[0], 201, 400, 80)...)
	p.job("UpdateListenerAttribute", "ListenerId", listeners[0], "ServerGroupId", groups[1])
	p.job("UpdateLoadBalancerAttribute", "LoadBalancerId", id, "CrossZoneEnabled", "false")
	page := p.must("nlb", "ListServerGroupServers", "ServerGroupId", groups[0], "MaxResults", "100")
	if page["TotalCount"] != 200.0 || len(page["Servers"].([]any)) != 100 || at(t, page, "Servers", 0, "Weight") != 50.0 {
		t.Errorf("%v servers, the first of %v", page["TotalCount"], at(t, page, "Servers", 0))
	}
	p.job("DeleteServerGroup", "ServerGroupId", groups[0])
	p.job("DeleteLoadBalancer", "LoadBalancerId", id)
	p.job("DeleteServerGroup", "ServerGroupId", groups[1])
	if left := p.must("nlb", "ListListeners"); left["TotalCount"] != 0.0 {
		t.Errorf("listeners outlive their load balancer: %v", left)
	}
}

// A fault strikes a job instead of the call that starts it.
func TestFaultsOnJobs(t *testing.T) {
	t.Parallel()
	settings := api.DefaultSettings()
	sim := newCloud(t, openapisim.Config{Settings: &settings, Seed: twoZones(1)})
	sim.SetTime(time.Now())
	c := newClient(t, sim)
	if err := sim.SetFaults(fault.Rule{
		Product: "nlb", Job: true, Times: 1, Latency: api.Duration(time.Minute), Error: &fault.Error{Code: "InternalError", Message: "It broke."},
	}); err != nil {
		t.Fatal(err)
	}
	answer := c.must("nlb", "CreateServerGroup", "VpcId", "vpc-1", "ServerGroupName", "group")
	job := func() any {
		return at(t, c.must("nlb", "ListAsynJobs", "JobIds.1", answer["JobId"].(string)), "Jobs", 0)
	}
	sim.Advance(59 * time.Second)
	if got := at(t, job(), "Status"); got != "Processing" {
		t.Errorf("after 59 s the job is %v", got)
	}
	sim.Advance(2 * time.Second)
	if got := job(); at(t, got, "Status") != "Failed" || at(t, got, "ErrorCode") != "InternalError" ||
		at(t, got, "ErrorMessage") != "It broke." {
		t.Errorf("the job is %v", got)
	}
	if groups := c.must("nlb", "ListServerGroups"); groups["TotalCount"] != 0.0 {
		t.Errorf("the group is there: %v", groups)
	}
	if rules := sim.Faults(); rules[0].Struck != 1 {
		t.Errorf("it struck %d times; reads are not struck", rules[0].Struck)
	}
}

// Every documented error code can be had: from the simulated cloud itself, which the tests of package nlb see to, and else by a
// fault.
func TestNLBDocumentedCodes(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("nlb/testdata/codes.txt")
	if err != nil {
		t.Fatal(err)
	}
	own := map[string][]string{}
	for _, a := range nlb.Product().Actions {
		own[a.Name] = a.AllCodes()
	}
	sim := newCloud(t, openapisim.Config{LimitsOff: true})
	byItself, byFault := 0, 0
	for line := range strings.Lines(string(document)) {
		fields := strings.Fields(line)
		if fields[0] == "#" {
			continue
		}
		action, codes := fields[0], fields[2:]
		status, err := strconv.Atoi(fields[1])
		if _, known := own[action]; err != nil || !known {
			t.Fatalf("line %q: %v", line, err)
		}
		for _, code := range codes {
			if slices.Contains(own[action], code) {
				byItself++
				continue
			}
			byFault++
			code = strings.ReplaceAll(code, "%s", "something")
			rule := fault.Rule{Product: "nlb", Action: action, Error: &fault.Error{Status: status, Code: code}}
			if err := sim.SetFaults(rule); err != nil {
				t.Fatal(err)
			}
			if got, answer := callV3(sim, action, fmt.Sprint("nonce-", byFault), nil); got != status || answer["Code"] != code {
				t.Errorf("%s: %d %v, want %d %s", action, got, answer["Code"], status, code)
			}
		}
	}
	if byItself < byFault {
		t.Errorf("%d codes come from the cloud itself, %d only by faults", byItself, byFault)
	}
}

// The journal says what happened in the order in which it happened: to repeat its calls one after the other gives the same cloud.
func TestNLBJournalOrder(t *testing.T) {
	t.Parallel()
	const callers, each = 20, 100
	now := time.Now()
	start := func() *openapisim.Simulator {
		sim := newCloud(t, openapisim.Config{LimitsOff: true, Seed: twoZones(20)})
		sim.SetTime(now)
		for n := range 3 {
			callV3(sim, "CreateLoadBalancer", fmt.Sprint("lb-", n), pairs(newNLBParams()...))
			callV3(sim, "CreateServerGroup", fmt.Sprint("sgp-", n), pairs("VpcId", "vpc-1", "ServerGroupName", "group"))
		}
		return sim
	}
	sim := start()
	first := sim.Calls(0)[len(sim.Calls(0))-1].Seq
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(caller), 1))
			for n := range each {
				action, params := nlbCall(sim, random)
				callV3(sim, action, fmt.Sprint(caller, "-", n), params)
			}
		})
	}
	wg.Wait()
	calls := sim.Calls(first)
	if len(calls) != callers*each {
		t.Fatalf("%d calls in the journal, want %d", len(calls), callers*each)
	}
	again, effects := start(), 0
	for _, call := range calls {
		if !call.Effect {
			continue
		}
		effects++
		if status, answer := callV3(again, call.Action, fmt.Sprint("again-", effects), call.Params); status != http.StatusOK {
			t.Fatalf("call %d, %s: %v", call.Seq, call.Action, answer)
		}
	}
	if effects < len(calls)/10 {
		t.Errorf("%d of %d calls had an effect; nothing was put to the test", effects, len(calls))
	}
	got, want := snapshotOf(t, again), snapshotOf(t, sim)
	if got != want {
		t.Errorf("repeated, the calls lead to another cloud:\n%.2000s\nwant\n%.2000s", got, want)
	}
	checkOrder(t, calls)
}

// checkOrder checks that calls are numbered without gaps.
func checkOrder(t *testing.T, calls []journal.Call) {
	t.Helper()
	for i, call := range calls {
		if call.Seq != calls[0].Seq+int64(i) {
			t.Fatalf("call %d comes after %d", call.Seq, calls[i-1].Seq)
		}
	}
}

func pairs(params ...string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(params); i += 2 {
		out[params[i]] = params[i+1]
	}
	return out
}

// snapshotOf is the state as text.
func snapshotOf(t *testing.T, sim *openapisim.Simulator) string {
	t.Helper()
	snapshot, err := sim.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return string(snapshot)
}

// nlbCall draws a call about what there is.
func nlbCall(sim *openapisim.Simulator, random *rand.Rand) (string, map[string]string) {
	var balancers, groups, listeners []string
	sim.View(func(c *state.Cloud) {
		balancers = slices.Sorted(maps.Keys(c.NLBs))
		groups = slices.Sorted(maps.Keys(c.NLBServerGroups))
		listeners = append(slices.Sorted(maps.Keys(c.NLBListeners)), "lsn-x@1")
	})
	group, listener := pick(random, groups), pick(random, listeners)
	n := 1 + random.IntN(20)
	server := serversOf(group, n, n, 80)
	switch random.IntN(8) {
	case 0:
		return "CreateListener", pairs("LoadBalancerId", pick(random, balancers), "ListenerProtocol", "TCP",
			"ListenerPort", strconv.Itoa(1+random.IntN(30)), "ServerGroupId", group)
	case 1:
		return "DeleteListener", pairs("ListenerId", listener)
	case 2:
		return "UpdateListenerAttribute", pairs("ListenerId", listener, "Cps", strconv.Itoa(random.IntN(1000)))
	case 3, 4:
		return "AddServersToServerGroup", pairs(server...)
	case 5:
		return "RemoveServersFromServerGroup", pairs(server...)
	case 6:
		return "UpdateServerGroupServersAttribute", pairs(append(server, "Servers.1.Weight", strconv.Itoa(random.IntN(101)))...)
	default:
		return "ListListeners", nil
	}
}
