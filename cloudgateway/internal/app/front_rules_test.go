package app

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
)

// TestFrontWithholds: what the cloud says about the gateway's own credentials does not reach a tool, which would take
// its own for wrong.
func TestFrontWithholds(t *testing.T) {
	w := fronted(t, "")
	c := newTool(t, w.openFront(w.start()), "tool", toolSecret)
	for code, reason := range map[string]string{
		"SignatureDoesNotMatch": "credentials", "InvalidAccessKeyId.NotFound": "credentials", "InvalidParameter": "quote",
	} {
		if err := w.sim.SetFaults(fault.Rule{Action: "DescribeInstances", Error: &fault.Error{
			Status: 400, Code: code, Message: "server string to sign is:POST&AccessKeyId%3D" + openapisim.DefaultAccessKeyID,
		}}); err != nil {
			t.Fatal(err)
		}
		got := c.call(t, "ecs:DescribeInstances", nil)
		if got.Status != http.StatusServiceUnavailable || got.Code != "ServiceUnavailable" ||
			!strings.Contains(got.Body, `"HostId":"cloudgateway"`) || strings.Contains(got.Body, openapisim.DefaultAccessKeyID) {
			t.Errorf("%s: got %d %s", code, got.Status, got.Body)
		}
		_, page := w.get("/metrics")
		if !strings.Contains(page, `cloudgateway_front_withheld_answers_total{reason="`+reason+`"}`) {
			t.Errorf("%s: no metric says so", code)
		}
	}
	if text := w.log.String(); !strings.Contains(text, "a tool does not get the answer") {
		t.Error("the log does not say so")
	}
}

// TestFrontKeepsSensitiveReads: a read that gives keys or control is named alone, kept to the scope of the caller,
// and in the audit log.
func TestFrontKeepsSensitiveReads(t *testing.T) {
	w := fronted(t, "scopes: [{callers: [\""+scopedUser+"\"], tags: {team: web}}]\n")
	w.toolMay["vpc:*"], w.toolMay["ecs:*"], w.toolMay["ecs:DescribeUserData"] = true, true, true
	address := w.openFront(w.start())
	free, scoped := newTool(t, address, "tool", toolSecret), newTool(t, address, "scoped", scopedSecret)
	for _, name := range []string{
		"ecs:DescribeInvocationResults", "ecs:RunCommand", "ecs:DescribeInstanceVncUrl", "vpc:DescribeSslVpnClientCert",
		"vpc:DescribeVpnConnections",
	} {
		if got := free.call(t, name, map[string]string{"InstanceId": "i-web"}); got.Status != 403 {
			t.Errorf("%s by a wildcard: %+v", name, got)
		}
	}
	for id, inside := range map[string]bool{"i-web": true, "i-db": false} {
		before, calls := len(w.log.String()), len(w.sim.Calls(0))
		got := scoped.call(t, "ecs:DescribeUserData", map[string]string{"InstanceId": id})
		sent := false
		for _, call := range w.sim.Calls(int64(calls)) {
			sent = sent || call.Action == "DescribeUserData"
		}
		if (got.Status == 403) == inside || sent != inside {
			t.Errorf("user data of %s: %+v, sent %t", id, got, sent)
		}
		if text := w.log.String()[before:]; strings.Count(text, `"msg":"audit"`) != 1 || !strings.Contains(text, "InstanceId="+id) {
			t.Errorf("the log says %s", text)
		}
	}
}

// TestFrontAudit: the line of a creation has what was created, that of a change the names of its parameters, and a
// read has one if asked for.
func TestFrontAudit(t *testing.T) {
	w := fronted(t, "")
	text := string(must(os.ReadFile(w.file)))
	w.file = w.write("audited.yaml", strings.Replace(text, "wait: 3s", "wait: 3s, auditReads: true", 1))
	c := newTool(t, w.openFront(w.start()), "tool", toolSecret)
	lines := func(call string, params map[string]string) (reply, map[string]any) {
		t.Helper()
		before := len(w.log.String())
		got := c.call(t, call, params)
		found := regexp.MustCompile(`(?m)^.*"msg":"audit".*$`).FindAllString(w.log.String()[before:], -1)
		if len(found) != 1 {
			t.Fatalf("%s: %d lines", call, len(found))
		}
		var line map[string]any
		if err := json.Unmarshal([]byte(found[0]), &line); err != nil {
			t.Fatal(err)
		}
		return got, line
	}
	got, line := lines("slb:CreateLoadBalancer",
		map[string]string{"LoadBalancerName": "web", "AddressType": "internet", "LoadBalancerSpec": "slb.s1.small"})
	var made struct {
		LoadBalancerID string `json:"LoadBalancerId"`
	}
	if err := json.Unmarshal([]byte(got.Body), &made); err != nil || made.LoadBalancerID == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if !strings.Contains(fmt.Sprint(line["answered"]), "LoadBalancerId="+made.LoadBalancerID) ||
		!strings.Contains(fmt.Sprint(line["resource"]), "LoadBalancerName=web") {
		t.Errorf("the creation: %v", line)
	}
	_, line = lines("slb:SetLoadBalancerDeleteProtection", map[string]string{"LoadBalancerId": made.LoadBalancerID, "DeleteProtection": "off"})
	if fmt.Sprint(line["parameters"]) != "[DeleteProtection LoadBalancerId RegionId]" {
		t.Errorf("the change: %v", line)
	}
	if _, line = lines("ecs:DescribeInstances", nil); line["outcome"] != "ok" {
		t.Errorf("the read: %v", line)
	}
}

// TestFrontAuditsEveryChange: a caller whose refusals have used up the lines of the audit log does not hide what it has
// changed by losing the answer, or by leaving before it comes.
func TestFrontAuditsEveryChange(t *testing.T) {
	w := fronted(t, "")
	c := newTool(t, w.openFront(w.start()), "tool", toolSecret)
	if got := c.call(t, "ecs:DescribeInstances", nil); got.Status != 200 { // So that its connection stays.
		t.Fatalf("%+v", got)
	}
	lines := func() int { return strings.Count(w.log.String(), `"msg":"audit"`) }
	useUp := func() { // until a refusal leaves no line
		for range 60 {
			before := lines()
			if got := c.call(t, "ecs:StopInstance", map[string]string{"InstanceId": "i-web"}); got.Status != 403 && got.Code != "Throttling" {
				t.Fatalf("%+v", got)
			}
			if lines() == before {
				return
			}
		}
		t.Fatal("each refusal has a line, so that this shows nothing")
	}
	for name, fail := range map[string]struct {
		rule   fault.Rule
		leaves bool
	}{
		"the answer is lost":     {rule: fault.Rule{When: fault.After, Drop: true}},
		"the tool does not wait": {rule: fault.Rule{Latency: api.Duration(time.Minute)}, leaves: true},
	} {
		fail.rule.Action, fail.rule.Times = "CreateLoadBalancer", 1
		if err := w.sim.SetFaults(fail.rule); err != nil {
			t.Fatal(err)
		}
		useUp()
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		before := len(w.log.String())
		query := c.sign(http.MethodPost, c.params("slb:CreateLoadBalancer", map[string]string{"LoadBalancerName": "hidden"}))
		ended := make(chan error, 1)
		go func() {
			_, err := c.send(ctx, http.MethodPost, query, nil, nil)
			ended <- err
		}()
		if fail.leaves {
			until(t, "the cloud has got the call", func() bool { return w.sim.Faults()[0].Struck > 0 })
			leave()
		}
		if err := <-ended; err == nil {
			t.Fatalf("%s: it got an answer", name)
		}
		until(t, name+" is in the audit log", func() bool {
			return strings.Contains(w.log.String()[before:], `"resource":["LoadBalancerName=hidden","RegionId=cn-hangzhou"]`)
		})
	}
}

// TestFrontPairEndsWithItsServiceAccount: the deletion of a ServiceAccount takes its key pair away. An older role of
// the gateway, which can't look it up, takes nothing away.
func TestFrontPairEndsWithItsServiceAccount(t *testing.T) {
	for state, want := range map[string]string{"": "", "forbidden": "", "gone": "InvalidAccessKeyId.Inactive"} {
		w := fronted(t, "")
		w.accounts.Store("tool", state)
		c := newTool(t, w.openFront(w.start()), "tool", toolSecret)
		if got := c.call(t, "ecs:DescribeInstances", nil); got.Code != want {
			t.Errorf("%q: got %+v, want %q", state, got, want)
		}
		if state == "forbidden" && !strings.Contains(w.log.String(), "update its ClusterRole") {
			t.Error("the log does not say that the role is an old one")
		}
	}
	w := fronted(t, "")
	w.write("keys.yaml", fmt.Sprintf("keys: [{id: tool, secret: %s, user: %q, uid: uid-of-another}]\n", toolSecret, toolUser))
	c := newTool(t, w.openFront(w.start()), "tool", toolSecret)
	if got := c.call(t, "ecs:DescribeInstances", nil); got.Code != "InvalidAccessKeyId.Inactive" ||
		!strings.Contains(got.Body, "another one of the same name") {
		t.Errorf("one that was made anew: %+v", got)
	}
}

// TestFrontSaysNothingIsGone: what the gateway can't do at present is not that there is no key, nor anything else.
// Karpenter takes each answer with "NotFound" or "not found" in it, also to DeleteInstances, for the end of the
// instance, and leaves that running for nobody (AliyunContainerService/karpenter-provider-alibabacloud, pkg/errors and
// pkg/providers/instance).
func TestFrontSaysNothingIsGone(t *testing.T) {
	gone := regexp.MustCompile(`(?i)not ?found|not ?exist`)
	params := map[string]string{"InstanceId.1": "i-web"}
	w := fronted(t, "")
	for state, prepare := range map[string]func(){
		"the key pairs can't be read": func() { w.write("keys.yaml", "keys: [") },
		"there are no key pairs yet":  func() { must(0, os.Remove(filepath.Join(w.dir, "keys.yaml"))) },
	} {
		prepare()
		g := w.start() // It has no former key pairs.
		c := newTool(t, w.openFront(g), "tool", toolSecret)
		if got := c.call(t, "ecs:DeleteInstances", params); got.Status != 503 || got.Code != "ServiceUnavailable" || gone.MatchString(got.Body) {
			t.Errorf("%s: %+v", state, got)
		}
		got := assume(t, newTool(t, w.openFront(g), "", ""), "pod-of-tool", nil)
		if got.Status != 503 || gone.MatchString(got.Body) {
			t.Errorf("%s, a session: %+v", state, got)
		}
	}
	w = fronted(t, "scopes: [{callers: [\""+scopedUser+"\"], tags: {team: web}}]\n")
	address := w.openFront(w.start())
	c, scoped := newTool(t, address, "tool", toolSecret), newTool(t, address, "scoped", scopedSecret)
	elsewhere := map[string]string{"InstanceId.1": "i-web", "RegionId": "cn-beijing"}
	if got := c.call(t, "ecs:DeleteInstances", elsewhere); got.Status != 400 || gone.MatchString(got.Body) {
		t.Errorf("another region: %+v", got)
	}
	if err := w.sim.SetFaults(fault.Rule{Error: &fault.Error{
		Status: 404, Code: "InvalidAccessKeyId.NotFound", Message: "Specified access key is not found.",
	}}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*tool{"": c, ", which are asked for to know the scope": scoped} {
		if got := c.call(t, "ecs:DeleteInstances", params); got.Status != 503 || gone.MatchString(got.Body) {
			t.Errorf("the gateway's own credentials are gone%s: %+v", name, got)
		}
	}
	w.accounts.Store("tool", "gone")
	c.url = w.openFront(w.start()) // another replica, which remembers nothing
	if got := c.call(t, "ecs:DeleteInstances", params); got.Status != 403 || gone.MatchString(got.Body) {
		t.Errorf("without its ServiceAccount: %+v", got)
	}
}

// TestFrontLooksUpABurst: permitted calls that come at once while their permission is looked up are not refused, and
// cost few questions.
func TestFrontLooksUpABurst(t *testing.T) {
	w := fronted(t, "")
	w.latency = 300 * time.Millisecond
	address := w.openFront(w.start())
	var burst sync.WaitGroup
	var refused atomic.Int32
	for range 60 {
		c := newTool(t, address, "tool", toolSecret)
		query := c.sign(http.MethodPost, c.params("ecs:DescribeInstances", nil))
		burst.Go(func() {
			if got, err := c.send(t.Context(), http.MethodPost, query, nil, nil); err != nil || got.Status != 200 {
				t.Logf("%+v, %v", got, err)
				refused.Add(1)
			}
		})
	}
	burst.Wait()
	if n := refused.Load(); n > 0 {
		t.Errorf("%d of 60 calls were refused", n)
	}
}

// TestFrontClosesIdleConnections: a caller with more connections than it may have loses the one that has been idle
// for longest, and no call.
func TestFrontClosesIdleConnections(t *testing.T) {
	w := fronted(t, "")
	address := w.openFront(w.start())
	refused := 0
	for range 300 { // each of a client of its own, which keeps it
		c := newTool(t, address, "tool", toolSecret)
		if got := c.call(t, "ecs:DescribeInstances", nil); got.Status != 200 {
			t.Logf("%+v", got)
			refused++
		}
	}
	if refused > 0 {
		t.Errorf("%d of 300 calls were refused", refused)
	}
	_, page := w.get("/metrics")
	if !strings.Contains(page, `cloudgateway_front_closed_connections_total{reason="idle longest"} 44`) {
		t.Error("no metric says that 44 connections were closed")
	}
}

// TestFrontTakesTLS12: old Java, Python and PHP have no 1.3. The gateway's own API takes no less than that.
func TestFrontTakesTLS12(t *testing.T) {
	w := fronted(t, "")
	front := strings.TrimPrefix(w.openFront(w.start()), "https://")
	for address, want := range map[string]bool{front: true, w.addr: false} {
		for _, version := range []uint16{tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
			conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", address,
				&tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version, NextProtos: []string{"h2", "http/1.1"}})
			if err == nil {
				_ = conn.Close()
			}
			if taken := err == nil; taken != (version == tls.VersionTLS13 || want && version == tls.VersionTLS12) {
				t.Errorf("%s: %s is taken: %t, %v", address, tls.VersionName(version), taken, err)
			}
		}
	}
}

// TestRefusedChangesForgetNothing: what the gateway's own budget refuses has changed nothing, and what a tool changes
// in one product leaves what is known of others.
func TestRefusedChangesForgetNothing(t *testing.T) {
	w := fronted(t, "")
	text := string(must(os.ReadFile(w.file)))
	w.file = w.write("limited.yaml", strings.Replace(text, `budget: {callers: {`,
		`budget: {overrides: {slb/OtherWrites: {calls: 1, window: 60s}}, callers: {`, 1))
	w.toolMay["ecs:*"] = true
	g := w.start()
	c, client := newTool(t, w.openFront(g), "tool", toolSecret), w.dial("writer")
	read := func() {
		t.Helper()
		old := durationpb.New(time.Hour)
		if _, err := client.LoadBalancers.ListLoadBalancers(t.Context(), &slbv1.ListLoadBalancersRequest{
			AddressType: slbv1.AddressType_ADDRESS_TYPE_INTRANET, MaxAge: old}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Instances.ListInstances(t.Context(), &ecsv1.ListInstancesRequest{VpcId: "vpc-1", MaxAge: old}); err != nil {
			t.Fatal(err)
		}
	}
	reads := func() (slb, ecs int) {
		for _, call := range w.sim.Calls(0) {
			switch call.Action {
			case "DescribeLoadBalancers":
				slb++
			case "DescribeInstances":
				ecs++
			}
		}
		return slb, ecs
	}
	slb, ecs := 0, 0
	for throttled, calls := 0, 0; throttled < 5; calls++ { // The first call of a minute is sent, and may make the gateway forget.
		if calls == 50 {
			t.Fatalf("only %d of %d calls were throttled", throttled, calls)
		}
		read()
		slb, ecs = reads()
		if got := c.call(t, "slb:FrobnicateNothing", nil); got.Code != "Throttling" {
			continue
		}
		throttled++
		read()
		if s, e := reads(); s != slb || e != ecs {
			t.Errorf("%d and %d reads after a refused change, want %d and %d", s, e, slb, ecs)
		}
	}
	if got := c.call(t, "ecs:StopInstance", map[string]string{"InstanceId": "i-web"}); strings.HasPrefix(got.Code, "Throttling") {
		t.Fatalf("%+v", got)
	}
	read()
	if s, e := reads(); s != slb || e == ecs {
		t.Errorf("after a change of ECS: %d reads of load balancers, want %d, and %d of instances, want more than %d", s, slb, e, ecs)
	}
}

// TestFrontHasNoRoomForAnAnswer: the answer to a read that finds no room beside those which the tool does not read is refused as any other
// call of a tool that has too much under way. The cloud has answered: this replica stays ready.
func TestFrontHasNoRoomForAnAnswer(t *testing.T) {
	w := fronted(t, "")
	if err := w.sim.SetFaults(fault.Rule{Product: "ecs", Action: "DescribeInstances", Error: &fault.Error{
		Status: http.StatusBadRequest, Code: "InvalidParameter", Message: strings.Repeat("l", 15<<20),
	}}); err != nil {
		t.Fatal(err)
	}
	address := w.openFront(w.start())
	c := newTool(t, address, "tool", toolSecret)
	for range 2 { // They take 30 of 32 MiB.
		conn, err := tls.Dial("tcp", strings.TrimPrefix(address, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "POST /?%s HTTP/1.1\r\nHost: front\r\nContent-Length: 0\r\n\r\n",
			c.sign(http.MethodPost, c.params("ecs:DescribeInstances", nil))); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, len("HTTP/1.1 400"))); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if got := c.call(t, "ecs:DescribeInstances", nil); got.Code != "Throttling" || got.Header.Get("X-Acs-Retry-After") == "" {
			t.Errorf("got %d %.200s", got.Status, got.Body)
		}
	}
	if status, page := w.get("/readyz"); status != http.StatusOK {
		t.Errorf("%d %s", status, page)
	}
	if _, page := w.get("/metrics"); !strings.Contains(page, `cloudgateway_front_throttled_calls_total{reason="bytes"}`) {
		t.Error("no metric says so")
	}
}
